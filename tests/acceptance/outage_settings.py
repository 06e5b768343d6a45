"""Settings of the workers whose email channel has providers that go away and come back soon."""

from __future__ import annotations

import datetime as dt
from typing import Any

from config.env import env
from tests.acceptance.worker_settings import *
from tests.acceptance.worker_settings import RESETDELIVERY

_email: dict[str, Any] = {
    **RESETDELIVERY["CHANNELS"]["email"],
    "OUTAGE_PAUSE": dt.timedelta(seconds=0.2),
    "OUTAGE_PAUSE_CAP": dt.timedelta(seconds=0.4),
}
if second_port := env.int("SECOND_SMTP_PORT", default=0):
    options = _email.pop("OPTIONS")
    transport = _email.pop("TRANSPORT", "notifications.email.smtp.SmtpTransport")
    _email["PROVIDERS"] = [
        {"NAME": "main", "TRANSPORT": transport, "OPTIONS": options},
        {"NAME": "second", "TRANSPORT": transport, "OPTIONS": {**options, "port": second_port}},
    ]
RESETDELIVERY["CHANNELS"] = {**RESETDELIVERY["CHANNELS"], "email": _email}
