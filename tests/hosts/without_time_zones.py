from __future__ import annotations

from tests.hosts.bare import *  # noqa: F403

USE_TZ = False
