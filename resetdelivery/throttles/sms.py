"""What text messages may cost: bursts to one range of numbers or one number, segments per hour and day.

Asked right before a wave is marked, in one round trip. Here the limits fail closed: while they
cannot be asked no text message is sent, for each costs money and its number may be an attacker's.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.views.decorators.debug import sensitive_variables

from notifications.message import SmsMessage
from notifications.sms.phone import is_e164, number_range
from resetdelivery.claims import Claimed, Ready
from resetdelivery.conf import Settings, get_settings
from resetdelivery.domain.decisions import Verdict
from resetdelivery.domain.gcra import Rate
from resetdelivery.domain.reasons import DeliveryReason
from resetdelivery.domain.states import DeliveryState, IntentKind
from resetdelivery.lineup import Assigned
from resetdelivery.logs import get_logger
from resetdelivery.throttles.connection import LimitsUnavailable, is_on, run
from resetdelivery.throttles.meters import LUA, PREFIX, key

log = get_logger("resetdelivery.throttles")

#: KEYS: what was spent, then for each message whether its delivery was counted, and the meter that it
#: is counted by. ARGV: segments per hour and per day (or nothing), now or nothing; then for each message
#: how long to remember its delivery in milliseconds, its segments, 1 if the budget may refuse it, and
#: interval and limit of its meter.
#: The answer says of each message: 0 may go, 1 its meter is over the limit, 2 the budget is spent.
WITHIN = (
    LUA
    + """
local now = now_us(ARGV[3])
local windows = {
  {name = 'hour', number = math.floor(now / 3600000000), most = tonumber(ARGV[1])},
  {name = 'day', number = math.floor(now / 86400000000), most = tonumber(ARGV[2])},
}
for _, window in ipairs(windows) do
  local stored = redis.call('HMGET', KEYS[1], window.name, window.name .. '_segments')
  local same = tonumber(stored[1] or '') == window.number
  window.segments = same and tonumber(stored[2] or '') or 0
end
local function fits(segments)
  for _, window in ipairs(windows) do
    if window.most and window.segments + segments > window.most then return false end
  end
  return true
end
local function is_counted(counted, name, remember, interval, limit)
  if redis.call('EXISTS', counted) == 1 then return true end
  local wait, following = meter(name, interval, limit, now)
  if wait > 0 then return false end
  store(name, following, now)
  redis.call('SET', counted, '1', 'PX', remember)
  return true
end
local answers = {}
for i = 1, (#KEYS - 1) / 2 do
  local own = 5 * i - 1
  local segments, budgeted = tonumber(ARGV[own + 1]), ARGV[own + 2] == '1'
  local interval, limit = tonumber(ARGV[own + 3]), tonumber(ARGV[own + 4])
  if budgeted and not fits(segments) then
    answers[i] = 2
  elseif not is_counted(KEYS[2 * i], KEYS[2 * i + 1], ARGV[own], interval, limit) then
    answers[i] = 1
  else
    answers[i] = 0
    for _, window in ipairs(windows) do window.segments = window.segments + segments end
  end
end
for _, window in ipairs(windows) do
  redis.call('HSET', KEYS[1], window.name, window.number, window.name .. '_segments', window.segments)
end
redis.call('PEXPIRE', KEYS[1], 172800000)
return answers
"""
)

#: Kept a little longer than the delivery can be tried.
_REMEMBER_MARGIN = dt.timedelta(minutes=1)
#: Notices to one number. No limit on resets holds for them, and a signed-in account can change its
#: password in a loop; each change beyond these is told by email alone.
NOTICES = Rate(limit=3, period=dt.timedelta(days=1))
_REFUSALS = {1: DeliveryReason.SMS_PREFIX_LIMIT, 2: DeliveryReason.SMS_BUDGET_SPENT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """A wave after the limits.

    ``ready`` may be sent, and is paid for; ``refused`` ends here; ``postponed`` holds the ids that
    nobody can judge before the moment given, because the limits do not answer.
    """

    ready: Sequence[Ready]
    refused: Sequence[tuple[Claimed, Verdict]] = ()
    postponed: Mapping[int, dt.datetime] = field(default_factory=dict)


@sensitive_variables()
def within_limits(wave: Sequence[Ready]) -> Allowed:
    """What of ``wave`` may be sent now; to be asked once for each attempt, right before its mark.

    Each attempt uses up its segments, for each may be billed; a delivery counts once for its range
    of numbers, however often it is tried. A notice of a changed password is paid for, and refused
    by nothing but the meter of its own number, :data:`NOTICES`. Email, and everything where there
    is no Redis for limits, passes untouched.
    """
    asked = [one for one in wave if isinstance(one.message, SmsMessage)]
    if not asked or not is_on():
        return Allowed(ready=wave)
    settings = get_settings()
    try:
        answers = run(WITHIN, _keys(asked), _arguments(settings, asked))
    except LimitsUnavailable:
        # What is refused here must not be lost with the outage: it waits, for as long as it can help.
        log.warning("sms_held_back", count=len(asked))
        postponed = {one.claimed.id: _look_again(settings, one) for one in asked}
        return Allowed(ready=[o for o in wave if o.claimed.id not in postponed], postponed=postponed)
    return _judged(wave, {one.claimed.id: int(said) for one, said in zip(asked, answers, strict=True)})


def narrowed(assigned: Assigned) -> Assigned:
    """``assigned`` without what the limits hold back or refuse."""
    allowed = within_limits([one for share in assigned.shares for one in share.ready])
    ids = {one.claimed.id for one in allowed.ready}
    shares = [
        dataclasses.replace(share, ready=[one for one in share.ready if one.claimed.id in ids])
        for share in assigned.shares
    ]
    return dataclasses.replace(
        assigned,
        shares=shares,
        postponed={**assigned.postponed, **allowed.postponed},
        stranded=[*assigned.stranded, *allowed.refused],
    )


def _judged(wave: Sequence[Ready], answers: Mapping[int, int]) -> Allowed:
    refused = [
        (one.claimed, Verdict(state=DeliveryState.FAILED, reason=_REFUSALS[answers[one.claimed.id]]))
        for one in wave
        if answers.get(one.claimed.id)
    ]
    for reason in _REFUSALS.values():
        if count := sum(verdict.reason == reason for _, verdict in refused):
            log.warning("sms_refused", reason=reason.value, count=count)
    return Allowed(ready=[one for one in wave if not answers.get(one.claimed.id)], refused=refused)


def _look_again(settings: Settings, one: Ready) -> dt.datetime:
    return min(one.claimed.claimed_at + settings.limits_pause, one.claimed.expires_at)


@sensitive_variables()
def _keys(asked: Sequence[Ready]) -> list[str]:
    return [f"{PREFIX}:sms:spent", *(name for one in asked for name in _own_keys(one))]


@sensitive_variables()
def _own_keys(one: Ready) -> tuple[str, str]:
    return key("sms-delivery", str(one.claimed.reference)), _meter_key(one)


@sensitive_variables()
def _meter_key(one: Ready) -> str:
    number = one.message.to
    if _is_notice(one):
        return key("sms-notice", number)
    # What is no number its provider refuses; here it must not hold up the others of its wave.
    return key("sms-range", number_range(number) if is_e164(number) else "")


def _arguments(settings: Settings, asked: Sequence[Ready]) -> list[str | int]:
    ranges = Rate(limit=settings.prefix_per_hour, period=dt.timedelta(hours=1))
    budgets = (settings.sms_segments_per_hour, settings.sms_segments_per_day)
    own = [value for one in asked for value in _own_arguments(one, NOTICES if _is_notice(one) else ranges)]
    return [*("" if most is None else most for most in budgets), "", *own]


def _own_arguments(one: Ready, rate: Rate) -> tuple[int, int, int, int, int]:
    lifetime = one.claimed.expires_at - one.claimed.claimed_at + _REMEMBER_MARGIN
    segments = one.message.segments if isinstance(one.message, SmsMessage) else 0
    remember = max(1, lifetime // dt.timedelta(milliseconds=1))
    return remember, segments, int(not _is_notice(one)), rate.interval_us, rate.limit


def _is_notice(one: Ready) -> bool:
    """No budget refuses it that a password was changed: or whoever changed it spends the budget first."""
    return one.claimed.kind is IntentKind.SECURITY_NOTICE
