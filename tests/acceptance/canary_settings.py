"""Settings of the canary test's processes: marked template values, traces, and a transport that raises."""

from __future__ import annotations

from config.env import env
from tests.acceptance.harness.canary_texts import SETTINGS
from tests.acceptance.worker_settings import *
from tests.acceptance.worker_settings import RESETDELIVERY

RESETDELIVERY.update(SETTINGS)
if env.bool("LOUD_TRANSPORT", default=False):
    for channel in RESETDELIVERY["CHANNELS"].values():
        channel.update(TRANSPORT="tests.acceptance.harness.canary_faults.LoudTransport", OPTIONS={})
