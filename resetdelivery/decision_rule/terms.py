"""The rule's terms for one channel at one boundary, each with where it comes from."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, replace

from notifications.channels import Channel
from resetdelivery.conf import Dispatch, Recovery, Settings
from resetdelivery.decision_rule.measured import NOTHING, Measured, Percentiles
from resetdelivery.domain.decision_rule import Course, lost_hint_seconds, recovery_seconds
from resetdelivery.domain.lease import lease_seconds

#: Between two runs of ``wake_due``, as :func:`resetdelivery.schedule.beat_schedule` has it.
WAKE_SECONDS = 1.0
#: An expiry has no fraction of a second.
ROUNDING_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One duration in seconds, as set for the normal and for the worst case, and as measured.

    The larger counts: of p95 and what is set normally, of p99 and what is set at worst. ``source`` is
    what it is set by.
    """

    what: str
    source: str
    set_normal: float
    set_worst: float
    measured: Percentiles | None = None

    @property
    def normal(self) -> float:
        """What counts where nothing fails."""
        return max(self.set_normal, self.measured.p95 if self.measured else 0.0)

    @property
    def worst(self) -> float:
        """What counts in the rule."""
        return max(self.set_worst, self.measured.p99 if self.measured else 0.0)

    @property
    def is_measured(self) -> bool:
        """Whether what was measured counts in the rule."""
        return self.worst > self.set_worst

    @property
    def origin(self) -> str:
        """Where the rule's value comes from."""
        return (
            f"measured p99 of {self.measured.number}" if self.measured and self.is_measured else self.source
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """The shortest life that is admitted, and what says so: a setting, or what was asked for."""

    seconds: float
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One channel at one boundary: its terms by the names of :class:`Course`'s fields, and both cases.

    ``normal`` is the case in which nobody dies and failures come at once, ``worst`` the one that the
    rule is about. ``recovers`` says whether anybody puts back what a dead worker held; where nobody
    does, ``worst`` is without a dead worker. ``lost_hint_seconds`` is ``None`` where nobody tells again.
    """

    channel: Channel
    boundary: Dispatch
    life: Life
    terms: Mapping[str, Term]
    normal: Course
    worst: Course
    max_attempts: int
    recovers: bool
    lost_hint_seconds: float | None

    @property
    def holds(self) -> bool:
        """Whether the rule does: all attempts fit, after one dead worker."""
        return self.recovers and self.worst.tries == self.max_attempts and self.worst.all_fit

    def after_lost_hint(self) -> tuple[int, int]:
        """How many attempts fit where the first hint is lost: alone, and with a dead worker on top."""
        late = replace(self.worst, hint_seconds=self.worst.hint_seconds + (self.lost_hint_seconds or 0.0))
        return replace(late, recovery_seconds=0.0).fitting, late.fitting


def way_of(settings: Settings, channel: Channel, boundary: Dispatch, measured: Measured = NOTHING) -> Way:
    """The terms of ``channel`` under ``settings``, were ``boundary`` the one that is used.

    Waits for a worker that were measured count for the boundary that is used, and for no other.
    """
    life = life_of(settings, channel, measured)
    recovers = boundary is not Dispatch.INLINE and settings.recovery is Recovery.ON
    terms = _terms(settings, channel, boundary, measured, recovers=recovers)
    max_attempts = settings.channel(channel).max_attempts
    tries = 1 if boundary is Dispatch.INLINE else max_attempts

    def course(values: Mapping[str, float]) -> Course:
        return Course(life_seconds=life.seconds, tries=tries, policy=settings.policy(channel), **values)

    return Way(
        channel=channel,
        boundary=boundary,
        life=life,
        terms=terms,
        normal=course({name: term.normal for name, term in terms.items()}),
        worst=course({name: term.worst for name, term in terms.items()}),
        max_attempts=max_attempts,
        recovers=recovers,
        lost_hint_seconds=_lost_hint(settings, boundary, terms["hint_seconds"].worst),
    )


def life_of(settings: Settings, channel: Channel, measured: Measured = NOTHING) -> Life:
    """The shortest life that is admitted on ``channel``."""
    usual = Life(seconds=settings.lifetime.total_seconds(), source="LIFETIME")
    asked = measured.shortest_life_seconds
    if settings.min_lifetime:
        shortest = Life(seconds=settings.min_lifetime.total_seconds(), source="MIN_LIFETIME")
    elif asked is not None and asked < usual.seconds:
        shortest = Life(seconds=asked, source="the shortest that was asked for")
    else:
        shortest = usual
    longest = settings.channel(channel).max_lifetime.total_seconds()
    return shortest if shortest.seconds <= longest else Life(seconds=longest, source="MAX_LIFETIME")


def _terms(
    settings: Settings, channel: Channel, boundary: Dispatch, measured: Measured, *, recovers: bool
) -> dict[str, Term]:
    options = settings.channel(channel)
    latency = Term(
        what="last answer",
        source="EXPECTED_LATENCY",
        **_same(options.expected_latency),
        measured=measured.latency.get(channel),
    )
    failure = Term(
        what="a failed attempt",
        source="SEND_BUDGET",
        set_normal=latency.normal,
        set_worst=max(options.send_budget.total_seconds(), latency.worst),
    )
    admission = Term(
        what="admission",
        source="no setting: the life begins under its locks",
        set_normal=0.0,
        set_worst=0.0,
        measured=measured.admission,
    )
    return {
        "rounding_seconds": _plain("whole seconds", "an expiry has no fraction", ROUNDING_SECONDS),
        "admission_seconds": admission,
        **_waits(settings, channel, boundary, measured, recovers=recovers),
        "failure_seconds": failure,
        "latency_seconds": latency,
    }


def _waits(
    settings: Settings, channel: Channel, boundary: Dispatch, measured: Measured, *, recovers: bool
) -> dict[str, Term]:
    """What goes by until a worker comes, the first time, after a backoff, and after one that died."""
    options = settings.channel(channel)
    hint, wake = _told(settings, boundary)
    own = boundary is settings.dispatch
    claim_measured = measured.claim.get(channel) if own else None
    claim = Term(
        what="claim",
        source="within EXPECTED_QUEUE_DELAY",
        set_normal=0.0,
        set_worst=0.0,
        measured=claim_measured,
    )
    told = Percentiles(p95=min(hint.normal, wake.normal), p99=min(hint.worst, wake.worst), number=0)
    expected = options.expected_queue_delay.total_seconds()
    queue = Term(
        what="queue delay",
        source="EXPECTED_QUEUE_DELAY, less claim" if claim.worst else "EXPECTED_QUEUE_DELAY",
        set_normal=max(0.0, expected - claim.normal),
        set_worst=max(0.0, expected - claim.worst),
        measured=_less(measured.pickup.get(channel) if own else None, claim_measured, told),
    )
    lease = lease_seconds(
        settings.lease.total_seconds(),
        options.send_budget.total_seconds(),
        settings.lease_margin.total_seconds(),
    )
    dead = recovery_seconds(
        lease_seconds=lease,
        sweep_seconds=settings.sweep_interval.total_seconds(),
        hint_seconds=hint.worst,
        pickup_seconds=queue.worst + claim.worst,
    )
    recovery = Term(
        what="one dead worker",
        source="LEASE, SWEEP_INTERVAL, then hint, queue delay and claim" if recovers else "nobody puts back",
        set_normal=0.0,
        set_worst=dead if recovers else 0.0,
    )
    return {
        "hint_seconds": hint,
        "queue_seconds": queue,
        "claim_seconds": claim,
        "recovery_seconds": recovery,
        "wake_seconds": wake,
    }


def _told(settings: Settings, boundary: Dispatch) -> tuple[Term, Term]:
    """Until somebody knows that a row is due: after the commit, and after a backoff."""
    if boundary is Dispatch.INLINE:
        return (
            _plain("hint", "none: the caller's own process delivers", 0.0),
            _plain("wake-up", "none: the next request on the channel", 0.0),
        )
    if boundary is Dispatch.DATABASE:
        poll = settings.poll_interval.total_seconds()
        return _plain("hint", "none: POLL_INTERVAL", poll), _plain("wake-up", "POLL_INTERVAL", poll)
    publish = Term(
        what="hint",
        source="PUBLISH_TIMEOUT",
        set_normal=0.0,
        set_worst=settings.publish_timeout.total_seconds(),
    )
    return publish, _plain("wake-up", "wake_due, each second", WAKE_SECONDS)


def _lost_hint(settings: Settings, boundary: Dispatch, hint_seconds: float) -> float | None:
    """What a lost hint costs. A poller needs none; what an inline process leaves, nobody looks for."""
    if boundary is Dispatch.DATABASE:
        return 0.0
    if boundary is Dispatch.INLINE or settings.recovery is not Recovery.ON:
        return None
    return lost_hint_seconds(
        grace_seconds=settings.sweep_grace.total_seconds(),
        sweep_seconds=settings.sweep_interval.total_seconds(),
        hint_seconds=hint_seconds,
    )


def _same(duration: dt.timedelta) -> dict[str, float]:
    seconds = duration.total_seconds()
    return {"set_normal": seconds, "set_worst": seconds}


def _plain(what: str, source: str, seconds: float) -> Term:
    return Term(what=what, source=source, set_normal=seconds, set_worst=seconds)


def _less(pickup: Percentiles | None, *parts: Percentiles | None) -> Percentiles | None:
    """What was measured from due until an attempt, less the parts of it that are terms of their own."""
    if pickup is None:
        return None
    known = [part for part in parts if part]
    return Percentiles(
        p95=max(0.0, pickup.p95 - sum(part.p95 for part in known)),
        p99=max(0.0, pickup.p99 - sum(part.p99 for part in known)),
        number=pickup.number,
    )
