"""Settings of the workers whose email provider says what became of each message."""

from __future__ import annotations

from tests.acceptance.worker_settings import *
from tests.acceptance.worker_settings import RESETDELIVERY

RESETDELIVERY["CHANNELS"] = {
    **RESETDELIVERY["CHANNELS"],
    "email": {**RESETDELIVERY["CHANNELS"]["email"], "GIVES_RECEIPTS": True},
}
