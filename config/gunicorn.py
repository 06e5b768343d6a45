"""How gunicorn serves this project: its access log shows no query, no address and no reset link."""

from __future__ import annotations

import os

from config.env import env
from config.logging import configuration
from resetdelivery.log_scrubbing import install

workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
threads = 8
accesslog = "-"
# LinkFilter scrubs the path. Not %(r)s and %(f)s, which quote the query and the page before, nor %(h)s.
access_log_format = '%(t)s "%(m)s %(U)s %(H)s" %(s)s %(B)s octets in %(M)s ms'

# Before any worker is there: one that dies while it loads the project logs in the same form, and by the
# same filters. The access log keeps a form of its own.
_debug = env.bool("DEBUG", default=True)
logconfig_dict = configuration(
    form=env.str("LOG_FORMAT", default="console" if _debug else "json"), debug=_debug
)
install()
