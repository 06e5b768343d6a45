"""The rule's terms for one channel at one boundary, each with where it comes from."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import replace

from notifications.channels import Channel
from resetdelivery.conf import Dispatch, Recovery, Settings
from resetdelivery.decision_rule.measured import NOTHING, Measured, Percentiles
from resetdelivery.decision_rule.periods import Period, sweep_period, wake_period
from resetdelivery.decision_rule.way import ASKED_FOR, Batch, Fallback, Life, Term, Way
from resetdelivery.domain.decision_rule import Course, lost_hint_seconds, recovery_seconds
from resetdelivery.domain.lease import lease_seconds

#: An expiry has no fraction of a second.
ROUNDING_SECONDS = 1.0


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

    worst = course({name: term.worst for name, term in terms.items()})
    return Way(
        channel=channel,
        boundary=boundary,
        life=life,
        terms=terms,
        normal=course({name: term.normal for name, term in terms.items()}),
        worst=worst,
        max_attempts=max_attempts,
        recovers=recovers,
        lost_hint_seconds=_lost_hint(settings, boundary, terms["hint_seconds"].worst),
        fallback=_fallback(settings, channel, boundary, worst),
        earlier=_earlier(settings, channel),
    )


def _fallback(settings: Settings, channel: Channel, boundary: Dispatch, worst: Course) -> Fallback | None:
    behind = tuple(other for other in settings.channels if other is not channel)
    if not behind:
        return None
    turns = sum(settings.channel(other).fallback_after.total_seconds() for other in behind)
    # Whoever looks for due rows arms what waits, too.
    seconds = turns + wake_period(settings, boundary).seconds
    late = replace(worst, admission_seconds=worst.admission_seconds + seconds)
    return Fallback(behind=behind, seconds=seconds, worst=late)


def _earlier(settings: Settings, channel: Channel) -> Batch:
    options = settings.channel(channel)
    waves = math.ceil(settings.claim_limit / options.wave)
    return Batch(waves=waves - 1, seconds=options.send_budget.total_seconds())


def life_of(settings: Settings, channel: Channel, measured: Measured = NOTHING) -> Life:
    """The shortest life that is admitted on ``channel``."""
    usual = Life(seconds=settings.lifetime.total_seconds(), source="LIFETIME")
    asked = measured.shortest_life.get(channel)
    if settings.min_lifetime:
        shortest = Life(seconds=settings.min_lifetime.total_seconds(), source="MIN_LIFETIME")
    elif asked is not None and asked < usual.seconds:
        shortest = Life(seconds=asked, source=ASKED_FOR)
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
    again = (hint, queue, claim)
    return {
        "hint_seconds": hint,
        "queue_seconds": queue,
        "claim_seconds": claim,
        "recovery_seconds": _recovery(settings, channel, boundary, again, recovers=recovers),
        "pause_seconds": _pause(settings, channel, boundary),
        "wake_seconds": wake,
    }


def _recovery(
    settings: Settings,
    channel: Channel,
    boundary: Dispatch,
    again: tuple[Term, Term, Term],
    *,
    recovers: bool,
) -> Term:
    """What a worker that died holds up: ``again`` are the hint, queue delay and claim that follow."""
    if not recovers:
        return Term(what=_DEAD, source="nobody puts back", set_normal=0.0, set_worst=0.0)
    sweep = sweep_period(settings, boundary)
    hint, queue, claim = again
    seconds = recovery_seconds(
        lease_seconds=lease_seconds(
            settings.lease.total_seconds(),
            settings.channel(channel).send_budget.total_seconds(),
            settings.lease_margin.total_seconds(),
        ),
        sweep_seconds=sweep.seconds,
        hint_seconds=hint.worst,
        pickup_seconds=queue.worst + claim.worst,
    )
    source = f"LEASE, {sweep.source}, then hint, queue delay and claim"
    return Term(what=_DEAD, source=source, set_normal=0.0, set_worst=seconds)


_DEAD = "one dead worker"


def _pause(settings: Settings, channel: Channel, boundary: Dispatch) -> Term:
    """Other rows' outages count as well, so that any failure may find the longest pause."""
    if boundary is Dispatch.INLINE:
        return _plain("provider rests", "none: nothing is retried", 0.0)
    return Term(
        what="provider rests",
        source="OUTAGE_PAUSE_CAP, where longer than the backoff",
        set_normal=0.0,
        set_worst=settings.channel(channel).outage_pause_cap.total_seconds(),
    )


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
    return publish, _woken(wake_period(settings, boundary), publish)


def _woken(wake: Period, publish: Term) -> Term:
    return Term(
        what="wake-up",
        source=f"{wake.source}; {publish.source}",
        set_normal=wake.seconds + publish.set_normal,
        set_worst=wake.seconds + publish.set_worst,
    )


def _lost_hint(settings: Settings, boundary: Dispatch, hint_seconds: float) -> float | None:
    """What a lost hint costs. A poller needs none; what an inline process leaves, nobody looks for."""
    if boundary is Dispatch.DATABASE:
        return 0.0
    if boundary is Dispatch.INLINE or settings.recovery is not Recovery.ON:
        return None
    return lost_hint_seconds(
        grace_seconds=settings.sweep_grace.total_seconds(),
        sweep_seconds=sweep_period(settings, boundary).seconds,
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
