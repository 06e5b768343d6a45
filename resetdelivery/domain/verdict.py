"""When the numbers of delivery's health are a reason to worry. Pure; durations are seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from notifications.outcome import OutcomeKind
from resetdelivery.domain.health import FAILING, ChannelNumbers, HealthReason, Verdict
from resetdelivery.domain.reasons import PauseReason

SHORTEST_SWEEP_PATIENCE_SECONDS = 30.0
#: Minutes are counted anew every ten seconds.
STALE_COUNTS_SECONDS = 120.0
#: A minute is closed soon after it may be, whether anything happened in it or not.
UNCLOSED_SECONDS = 3600.0


def verdict_of(reasons: Iterable[HealthReason]) -> Verdict:
    """The verdict that ``reasons`` are for."""
    found = set(reasons)
    if found & FAILING:
        return Verdict.FAILING
    return Verdict.DEGRADED if found else Verdict.OK


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """From when on a wait is ``late``, and from when on ``too_late``."""

    late_seconds: float
    too_late_seconds: float


def due_patience(*, useful_life_seconds: float, recovery_seconds: float) -> Patience:
    """How long a delivery may be due: a quarter of its useful life; sooner, what recovery takes.

    ``recovery_seconds`` is how long a healthy installation needs at worst, with a worker's death
    in the middle: beyond that, nobody is working on it.
    """
    too_late = useful_life_seconds / 4
    return Patience(late_seconds=min(recovery_seconds, too_late / 2), too_late_seconds=too_late)


def sweep_patience(*, interval_seconds: float, shortest_useful_life_seconds: float) -> Patience:
    """How long ago a sweep may have been: three turns; at worst a quarter of the shortest useful life."""
    late = max(3 * interval_seconds, SHORTEST_SWEEP_PATIENCE_SECONDS)
    return Patience(late_seconds=late, too_late_seconds=max(shortest_useful_life_seconds / 4, 2 * late))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Share:
    """A reason if ``part`` is at least this many and at least this share of ``whole``.

    The count is there for small shops: one of three resets is no trend.
    """

    reason: HealthReason
    part: Callable[[ChannelNumbers], int]
    whole: Callable[[ChannelNumbers], int]
    least: int
    share: float

    def holds(self, numbers: ChannelNumbers) -> bool:
        part = self.part(numbers)
        return part >= self.least and part >= self.share * self.whole(numbers)


def _refused(numbers: ChannelNumbers) -> int:
    return numbers.attempts_made - numbers.accepted


def _expired(numbers: ChannelNumbers) -> int:
    return numbers.expired_usefully


def _finished(numbers: ChannelNumbers) -> int:
    return numbers.finished


def _made(numbers: ChannelNumbers) -> int:
    return numbers.attempts_made


#: Of each group the first that holds is told: the worst stands at the front.
_SHARES = (
    (
        _Share(reason=HealthReason.EXPIRING_MANY, part=_expired, whole=_finished, least=10, share=0.2),
        _Share(reason=HealthReason.EXPIRING, part=_expired, whole=_finished, least=3, share=0.02),
    ),
    (
        _Share(
            reason=HealthReason.ACCEPTED_LATE,
            part=lambda numbers: numbers.life_left_at_acceptance.quarter_or_less,
            whole=lambda numbers: numbers.accepted,
            least=3,
            share=0.1,
        ),
    ),
    (
        _Share(reason=HealthReason.NONE_ACCEPTED, part=_refused, whole=_made, least=20, share=1.0),
        _Share(reason=HealthReason.FEW_ACCEPTED, part=_refused, whole=_made, least=10, share=0.5),
    ),
    (
        _Share(
            reason=HealthReason.AMBIGUOUS,
            part=lambda numbers: numbers.attempts.get(OutcomeKind.AMBIGUOUS, 0),
            whole=_made,
            least=3,
            share=0.02,
        ),
    ),
    (
        _Share(
            reason=HealthReason.LEASES_LOST,
            part=lambda numbers: numbers.lease_recoveries,
            whole=_made,
            least=3,
            share=0.01,
        ),
    ),
)


def channel_reasons(numbers: ChannelNumbers, due: Patience) -> tuple[HealthReason, ...]:
    """What is wrong with one channel."""
    found = [_pause(numbers), _waited(numbers.oldest_due_seconds, due)]
    found += [next((rule.reason for rule in group if rule.holds(numbers)), None) for group in _SHARES]
    return tuple(reason for reason in found if reason)


def _pause(numbers: ChannelNumbers) -> HealthReason | None:
    # While it is probed it is not paused, and the fault is not known to be mended.
    if numbers.pause_reason is PauseReason.MISCONFIGURED:
        return HealthReason.PAUSED_MISCONFIGURED
    return HealthReason.PAUSED_BY_OPERATOR if numbers.paused else None


def _waited(seconds: float | None, due: Patience) -> HealthReason | None:
    if seconds is None or seconds < due.late_seconds:
        return None
    return HealthReason.DUE_TOO_LATE if seconds >= due.too_late_seconds else HealthReason.DUE_LATE


def sweep_reason(age_seconds: float | None, patience: Patience) -> HealthReason | None:
    """What the age of the last sweep is a reason for; ``None`` as an age: there was none."""
    if age_seconds is None or age_seconds >= patience.too_late_seconds:
        return HealthReason.SWEEP_MISSING
    return HealthReason.SWEEP_LATE if age_seconds >= patience.late_seconds else None


def counts_reason(age_seconds: float | None, *, unclosed_seconds: float | None) -> HealthReason | None:
    """What the age of the last roll-up is a reason for; ``None`` as an age: there was none.

    ``unclosed_seconds`` is for how long the first open minute might have been closed; ``None`` if no
    minute ever was.
    """
    stale = age_seconds is None or age_seconds >= STALE_COUNTS_SECONDS
    stale = stale or (unclosed_seconds is not None and unclosed_seconds >= UNCLOSED_SECONDS)
    return HealthReason.COUNTS_STALE if stale else None
