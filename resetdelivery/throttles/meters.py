"""Meters in Redis: one key each, atomic, on the server's clock. Open where Redis does not answer."""

from __future__ import annotations

from django.views.decorators.debug import sensitive_variables

from resetdelivery.domain.gcra import Rate
from resetdelivery.pseudonyms import pseudonym
from resetdelivery.throttles.connection import LimitsUnavailable, is_on, run

#: ``meter`` is :func:`resetdelivery.domain.gcra.meter` again; a test holds the two together.
LUA = """
local function now_us(given)
  if given ~= '' then return tonumber(given) end
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
local function meter(key, interval, limit, now)
  local capacity = interval * limit
  local known = tonumber(redis.call('GET', key) or '') or now
  local following = math.min(math.max(known, now), now + capacity) + interval
  return math.max(following - capacity - now, 0), following
end
local function store(key, following, now)
  redis.call('SET', key, following, 'PX', math.ceil((following - now) / 1000))
end
"""

#: KEYS: the meter. ARGV: interval in microseconds, limit, whether to use it up, now or nothing.
TAKE = (
    LUA
    + """
local now = now_us(ARGV[4])
local wait, following = meter(KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), now)
if wait == 0 and ARGV[3] == '1' then store(KEYS[1], following, now) end
return wait
"""
)

PREFIX = "resetdelivery:limits"


def take(purpose: str, *parts: str, rate: Rate) -> float:
    """Use the meter of ``parts``, for one ``purpose``: 0.0, or the seconds to wait.

    ``parts`` are stored as a keyed digest. A refused call uses nothing. 0.0 as well where there is
    no Redis for limits, or where it does not answer within ``LIMITS_TIMEOUT``.
    """
    return _wait_seconds(purpose, parts, rate, uses=True)


def look(purpose: str, *parts: str, rate: Rate) -> float:
    """What :func:`take` would say now, using nothing: for meters that count failures only."""
    return _wait_seconds(purpose, parts, rate, uses=False)


@sensitive_variables()
def key(purpose: str, *parts: str) -> str:
    """The key of a meter: whom it is about is a pseudonym, under the newest of the configured keys."""
    return f"{PREFIX}:{purpose}:{pseudonym(f'limits {purpose}', *parts)}"


@sensitive_variables()
def _wait_seconds(purpose: str, parts: tuple[str, ...], rate: Rate, *, uses: bool) -> float:
    if not is_on():
        return 0.0
    try:
        wait_us = run(TAKE, [key(purpose, *parts)], [rate.interval_us, rate.limit, int(uses), ""])
    except LimitsUnavailable:
        return 0.0
    return int(wait_us) / 1_000_000
