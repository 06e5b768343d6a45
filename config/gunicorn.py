"""How gunicorn serves this project: its access log shows no query, no address and no reset link."""

from __future__ import annotations

import os

from resetdelivery.log_scrubbing import install

workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
threads = 8
accesslog = "-"
# LinkFilter scrubs the path. Not %(r)s and %(f)s, which quote the query and the page before, nor %(h)s.
access_log_format = '%(t)s "%(m)s %(U)s %(H)s" %(s)s %(B)s octets in %(M)s ms'

# Before any worker is there: one that dies while it loads the project logs by the same filters.
install()
