"""How often one client of the internal API may call."""

from __future__ import annotations

import datetime as dt

from resetdelivery.conf import get_settings
from resetdelivery.domain.gcra import Rate
from resetdelivery.throttles.meters import take


def admit_api_call(client: str) -> float:
    """0.0 if ``client`` may go on, else the seconds that it has to wait. Open while Redis is away."""
    rate = Rate(limit=get_settings().api_calls_per_minute, period=dt.timedelta(minutes=1))
    return take("api", client, rate=rate)
