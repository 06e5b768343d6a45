"""A project that keeps its resets in a database of their own, without a router that says so."""

from __future__ import annotations

from tests.hosts.bare import *  # noqa: F403
from tests.hosts.bare import DATABASES

DATABASES["default"]["TEST"] = {"NAME": None}
DATABASES["resets"] = {**DATABASES["default"], "NAME": "resets.sqlite3"}
