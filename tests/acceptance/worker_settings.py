"""Settings of the workers, pollers and clocks that the acceptance tests start."""

from __future__ import annotations

from config.env import env
from tests.acceptance.harness.configuration import TICKS, reset_delivery
from tests.settings import *

RESETDELIVERY = reset_delivery(
    dispatch=env.str("DISPATCH"), smtp_port=env.int("SMTP_PORT"), http_url=env.str("PROVIDER_URL")
)
if directory := env.str("DIRECTORY", default=""):
    RESETDELIVERY["DIRECTORY"] = directory
CELERY_BEAT_SCHEDULE = TICKS
