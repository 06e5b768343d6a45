"""A project with two databases, and a transaction on both around each view."""

from __future__ import annotations

from tests.hosts.bare import *  # noqa: F403
from tests.hosts.bare import DATABASES

DATABASES["default"]["ATOMIC_REQUESTS"] = True
DATABASES["other"] = {**DATABASES["default"], "NAME": "other.sqlite3"}
ROOT_URLCONF = "tests.hosts.atomic_urls"
