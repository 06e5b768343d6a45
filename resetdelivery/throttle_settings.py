"""What the throttles are set to: the part of ``RESETDELIVERY`` that ``resetdelivery.throttles`` reads."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleSettings:
    """Limits that live in Redis. Keys of ``RESETDELIVERY`` are these names in capitals.

    ``limits_redis_url`` is a Redis or Valkey of their own, or a database number of their own; empty
    means that there are no such limits. After it failed to answer within ``limits_timeout`` it is
    left alone for ``limits_pause``. ``trusted_proxies`` are the networks whose ``X-Forwarded-For``
    is believed; ``unix`` stands for a proxy that comes over a Unix socket. ``None`` as a budget of
    segments means that there is none, 0 that no text message is sent.
    """

    limits_redis_url: str = field(default="", repr=False)
    limits_timeout: dt.timedelta = dt.timedelta(milliseconds=200)
    limits_pause: dt.timedelta = dt.timedelta(seconds=5)
    trusted_proxies: tuple[str, ...] = ()
    caller_per_10_minutes: int = 10
    # A reset takes four requests of its page, and an office shares one address.
    confirm_per_10_minutes: int = 60
    api_calls_per_minute: int = 600
    prefix_per_hour: int = 20
    sms_segments_per_hour: int | None = None
    sms_segments_per_day: int | None = None
    conversion_min_sent: int = 20
    conversion_min_percent: int = 10
