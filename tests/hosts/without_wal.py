from __future__ import annotations

from tests.hosts.bare import *  # noqa: F403
from tests.hosts.bare import DATABASES

DATABASES["default"]["OPTIONS"] = {"transaction_mode": "IMMEDIATE"}
