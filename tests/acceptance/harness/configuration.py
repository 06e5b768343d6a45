"""The settings of an acceptance run, the same for the tests' process and for its workers.

Leases and pauses are seconds: a test waits for them to run out.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from resetdelivery.schedule import beat_schedule
from tests.settings import RESETDELIVERY

SEND_BUDGET_SECONDS = 2.0
LEASE_SECONDS = 2.5
#: Of the sweeps that the tests and beat make.
SWEEP_SECONDS = 0.5
MAX_ATTEMPTS = 6
MAX_CLAIMS = 10
HINT_BACKLOG = 4
#: Submissions of one task at a time.
WAVE = 8
#: How old a tick may be when it is run. Its period, the project's own bound, is less than a busy
#: machine takes from beat to worker now and then: all ticks would be dropped.
TICK_EXPIRES_SECONDS = 10.0
TICKS = {
    name: {**entry, "options": {**entry["options"], "expires": TICK_EXPIRES_SECONDS}}
    for name, entry in beat_schedule(wake_seconds=SWEEP_SECONDS, sweep_seconds=SWEEP_SECONDS).items()
}


def reset_delivery(*, dispatch: str, smtp_port: int, http_url: str) -> dict[str, Any]:
    """``RESETDELIVERY`` with real transports to a provider on this machine."""
    return {
        **RESETDELIVERY,
        "DISPATCH": dispatch,
        "LIFETIME": dt.timedelta(seconds=90),
        "MIN_USEFUL": _seconds(1),
        "LEASE": _seconds(LEASE_SECONDS),
        "LEASE_MARGIN": _seconds(LEASE_SECONDS - SEND_BUDGET_SECONDS),
        "FILL_AFTER": _seconds(0.5),
        "MAX_CLAIMS": MAX_CLAIMS,
        "SWEEP_INTERVAL": _seconds(SWEEP_SECONDS),
        "SWEEP_GRACE": _seconds(1),
        "POLL_INTERVAL": _seconds(0.2),
        # Not what a project should wait: here a hint is lost only where a test takes the broker away.
        "PUBLISH_TIMEOUT": _seconds(3),
        "PUBLISH_PAUSE": _seconds(1),
        "HINT_BACKLOG": HINT_BACKLOG,
        "CHANNELS": {
            "email": {**_channel(), "OPTIONS": _smtp(smtp_port)},
            "sms": {**_channel(), "OPTIONS": _twilio(http_url)},
        },
    }


def _channel() -> dict[str, Any]:
    return {
        "SEND_BUDGET": _seconds(SEND_BUDGET_SECONDS),
        "BACKOFF_BASE": _seconds(0.2),
        "BACKOFF_CAP": _seconds(0.5),
        "OUTAGE_PAUSE_CAP": _seconds(5),
        "WAVE": WAVE,
        "MAX_ATTEMPTS": MAX_ATTEMPTS,
        "EXPECTED_QUEUE_DELAY": _seconds(0.1),
        "EXPECTED_LATENCY": _seconds(0.1),
    }


def _smtp(port: int) -> dict[str, Any]:
    return {"host": "127.0.0.1", "port": port, "tls": "none", "from_address": "no-reply@shop.example"}


def _twilio(http_url: str) -> dict[str, Any]:
    return {
        "base_url": http_url,
        "account_sid": "AC00000000000000000000000000000000",
        "auth_token": "a token for tests",
        "from_number": "+15005550006",
    }


def _seconds(number: float) -> dt.timedelta:
    return dt.timedelta(seconds=number)
