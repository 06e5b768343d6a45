"""Settings of a listener that gives workers outside far more time than a test needs to kill one."""

from __future__ import annotations

import datetime as dt

from tests.acceptance.worker_settings import *
from tests.acceptance.worker_settings import RESETDELIVERY

RESETDELIVERY["LEASE"] = dt.timedelta(seconds=30)
RESETDELIVERY["CHANNELS"] = {
    name: {**channel, "SEND_BUDGET": dt.timedelta(seconds=20)}
    for name, channel in RESETDELIVERY["CHANNELS"].items()
}
