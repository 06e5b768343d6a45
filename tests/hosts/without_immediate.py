from __future__ import annotations

from tests.hosts.bare import *  # noqa: F403
from tests.hosts.bare import DATABASES

# One level too high, where Django does not look.
DATABASES["default"]["transaction_mode"] = "IMMEDIATE"
DATABASES["default"]["OPTIONS"] = {"init_command": "PRAGMA journal_mode=WAL;"}
