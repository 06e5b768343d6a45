"""Settings of the workers that ask a Redis of its own for the limits of text messages."""

from __future__ import annotations

import datetime as dt

from config.env import env
from tests.acceptance.worker_settings import *
from tests.acceptance.worker_settings import RESETDELIVERY

RESETDELIVERY["LIMITS_REDIS_URL"] = env.str("LIMITS_URL")
RESETDELIVERY["LIMITS_TIMEOUT"] = dt.timedelta(seconds=env.float("LIMITS_SECONDS", default=0.5))
RESETDELIVERY["LIMITS_PAUSE"] = dt.timedelta(seconds=0.3)
