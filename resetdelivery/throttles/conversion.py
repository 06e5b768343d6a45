"""How many text messages of a range of numbers lead to a reset: an attacker's lead to none.

Pumped traffic goes to numbers that look ordinary, and nobody follows its links. Both are counted
per range, in buckets of ten minutes that hold a range's digits and counts, nobody's whole number.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.views.decorators.debug import sensitive_variables

from notifications.sms.phone import InvalidNumber, number_range, region_of, stored_number
from resetdelivery.conf import get_settings
from resetdelivery.logs import get_logger
from resetdelivery.throttles.connection import LimitsUnavailable, connected, is_on, run
from resetdelivery.throttles.meters import PREFIX

log = get_logger("resetdelivery.throttles")

BUCKET_SECONDS = 600
#: An hour of messages, without those of the last ten minutes or more: their links still live.
_SENT_BUCKETS = range(2, 8)
_USED_BUCKETS = range(8)
#: Counts in one bucket, a range's sent and used each being one; what comes after is all "rest".
MOST_FIELDS = 2000
#: Alarms of one check.
MOST_ALARMS = 20

#: KEYS: the bucket. ARGV: its lifetime, how many fields it may have, then fields and what to add.
COUNT = """
for i = 3, #ARGV, 3 do
  local field = ARGV[i] .. ARGV[i + 1]
  if redis.call('HEXISTS', KEYS[1], field) == 0 and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[2]) then
    field = ARGV[i] .. 'rest'
  end
  redis.call('HINCRBY', KEYS[1], field, ARGV[i + 2])
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 0
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """One range in one hour: messages a provider took, and resets that accounts of it came to."""

    region: str
    digits: str
    sent: int
    used: int


@sensitive_variables()
def note_sent(numbers: Iterable[str], *, now: float | None = None) -> None:
    """A provider took text messages to these numbers. Never raises; one round trip at most.

    ``now`` is in seconds since 1970 and is this machine's clock unless it is given: minutes matter.
    """
    _note("sent", numbers, now)


@sensitive_variables()
def note_used(phone: str | None, *, now: float | None = None) -> None:
    """The account with this number (as it is stored, or none) has set a new password by its link.

    Never raises. Ends within ``LIMITS_TIMEOUT``, and at once while Redis is left alone. To be called
    after the commit: it holds no transaction up then.
    """
    _note("used", [phone or ""], now)


def check_conversion(*, now: float | None = None) -> list[Conversion]:
    """Warn of each range whose text messages lead to too few resets; those ranges, worst first.

    Ranges with fewer than ``CONVERSION_MIN_SENT`` messages in the hour are too small to tell. A
    warning comes again with each check for as long as it holds. Without an answer from Redis there
    is nothing to say.
    """
    if not is_on():
        return []
    try:
        low = _low(_buckets(_seconds(now)))
    except LimitsUnavailable:
        return []
    for one in low[:MOST_ALARMS]:
        log.warning("sms_conversion_low", region=one.region, prefix=one.digits, sent=one.sent, used=one.used)
    return low


@sensitive_variables()
def _note(what: str, numbers: Iterable[str], now: float | None) -> None:
    if not is_on():
        return
    counts = Counter(name for name in map(_range_name, numbers) if name)
    if not counts:
        return
    added = [part for name, count in counts.items() for part in (f"{what}:", name, count)]
    lifetime = (len(_USED_BUCKETS) + 1) * BUCKET_SECONDS * 1000
    try:
        run(COUNT, [_bucket_key(_seconds(now), 0)], [lifetime, MOST_FIELDS, *added])
    except LimitsUnavailable:
        return


@sensitive_variables()
def _range_name(number: str) -> str:
    """Region and digits of a number's range; empty for what is no number."""
    try:
        e164 = stored_number(number)
        return f"{region_of(e164)}:{number_range(e164)}"
    except InvalidNumber:
        return ""


def _seconds(now: float | None) -> float:
    return time.time() if now is None else now


def _buckets(now: float) -> Sequence[Mapping[str, str]]:
    with connected() as client:
        pipeline = client.pipeline(transaction=False)
        for back in _USED_BUCKETS:
            pipeline.hgetall(_bucket_key(now, back))
        return pipeline.execute()


def _bucket_key(now: float, back: int) -> str:
    return f"{PREFIX}:conversion:{int(now // BUCKET_SECONDS) - back}"


def _low(buckets: Sequence[Mapping[str, str]]) -> list[Conversion]:
    settings = get_settings()
    sent = _totals("sent:", [buckets[back] for back in _SENT_BUCKETS])
    used = _totals("used:", buckets)
    found = [
        Conversion(region=name.partition(":")[0], digits=name.partition(":")[2], sent=count, used=used[name])
        for name, count in sent.items()
        if count >= settings.conversion_min_sent
        and used[name] * 100 < count * settings.conversion_min_percent
    ]
    return sorted(found, key=lambda one: (one.used - one.sent, one.region, one.digits))


def _totals(kind: str, buckets: Iterable[Mapping[str, str]]) -> Counter[str]:
    totals: Counter[str] = Counter()
    for bucket in buckets:
        for field, count in bucket.items():
            if field.startswith(kind):
                totals[field.removeprefix(kind)] += int(count)
    return totals
