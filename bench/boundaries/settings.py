"""Settings of every process of the comparison: the project's, with a life short enough to see its end."""

from __future__ import annotations

import datetime as dt

from config.env import env
from config.settings import *  # noqa: F403  # one settings module on top of another
from config.settings import RESETDELIVERY
from resetdelivery.schedule import beat_schedule

LIFETIME_SECONDS = 8
SEND_BUDGET_SECONDS = 3
SWEEP_SECONDS = 2

RESETDELIVERY = {
    **RESETDELIVERY,
    "RESET_BASE_URL": "https://shop.example",
    # Too short for real resets, and for what the checks ask of a lifetime: here it is to run out.
    "LIFETIME": dt.timedelta(seconds=LIFETIME_SECONDS),
    "MIN_USEFUL": dt.timedelta(seconds=1),
    "SWEEP_INTERVAL": dt.timedelta(seconds=SWEEP_SECONDS),
    "CHANNELS": {
        "email": {
            "OPTIONS": {
                "host": "127.0.0.1",
                "port": env.int("EMAIL_PORT"),
                "tls": "none",
                "from_address": "no-reply@shop.example",
            },
            "SEND_BUDGET": dt.timedelta(seconds=SEND_BUDGET_SECONDS),
            "EXPECTED_LATENCY": dt.timedelta(seconds=1),
        }
    },
}
# Nobody runs into a limit: each account asks once.
for name in ("ACCOUNT_PER_HOUR", "ACCOUNT_PER_DAY", "DESTINATION_PER_HOUR", "DESTINATION_PER_DAY"):
    RESETDELIVERY[name] = 1000
CELERY_BEAT_SCHEDULE = beat_schedule(sweep_seconds=SWEEP_SECONDS)
