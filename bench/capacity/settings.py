"""Settings of the workers that are measured: the project's, with the batch and wave of one configuration."""

from __future__ import annotations

from config.env import env
from config.settings import *  # noqa: F403  # one settings module on top of another
from config.settings import RESETDELIVERY

RESETDELIVERY = {
    **RESETDELIVERY,
    "RESET_BASE_URL": "https://shop.example",
    "CLAIM_LIMIT": env.int("CLAIM_LIMIT", default=50),
    "CHANNELS": {
        "email": {
            "TRANSPORT": "bench.capacity.transport.ScatteredSmtp",
            "WAVE": env.int("WAVE", default=16),
            "OPTIONS": {
                "host": "127.0.0.1",
                "port": env.int("EMAIL_PORT", default=25),
                "tls": "none",
                "from_address": "no-reply@shop.example",
                "pool_size": 128,
                "latency_seconds": env.float("LATENCY_SECONDS", default=0.0),
                "deviation_seconds": env.float("DEVIATION_SECONDS", default=0.0),
            },
        }
    },
}
# Nobody runs into a limit: each account asks once in a run.
for name in ("ACCOUNT_PER_HOUR", "ACCOUNT_PER_DAY", "DESTINATION_PER_HOUR", "DESTINATION_PER_DAY"):
    RESETDELIVERY[name] = 10000
