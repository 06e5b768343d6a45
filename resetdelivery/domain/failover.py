"""Which provider a delivery goes to, and what an outage means for its next try. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from notifications.channels import Channel
from notifications.outcome import Outcome, OutcomeKind
from resetdelivery.domain.circuit import Circuit, CircuitPolicy, Signal, signal_of
from resetdelivery.domain.decisions import Decision, Submission, decide
from resetdelivery.domain.external import is_external
from resetdelivery.domain.retry import RetryPolicy

Circuits = Mapping[str, Circuit]

_CLOSED = Circuit()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineup:
    """A channel's providers by name, the one to ask first at the front, and their circuits' policy."""

    order: tuple[str, ...]
    policy: CircuitPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A delivery that is about to be sent.

    ``may_have_it`` names the provider of its newest ambiguous attempt; empty if there was none.
    """

    id: int
    channel: Channel
    may_have_it: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Who sends what: ids by provider, as ordinary submissions and as probes.

    ``postponed`` has the ids for which every provider rests, with the moment the first one may
    be asked again; ``stranded`` those whose only possible provider is configured no more.
    """

    sent_by: Mapping[str, Sequence[int]]
    probes: Mapping[str, int]
    postponed: Mapping[int, dt.datetime]
    stranded: Sequence[int]


def binds(channel: Channel) -> bool:
    """Whether a delivery that one provider may have must not go to another."""
    return channel is Channel.SMS


def bound_to(channel: Channel, may_have_it: str) -> str:
    """The only provider that may get the delivery, or "" if any may.

    Two providers that each send one SMS cannot know of each other: once a text message may be
    on its way, only the provider that may have it is asked again. A second copy of an email is
    harmless, and may come from anywhere.
    """
    return may_have_it if binds(channel) else ""


def plan(
    candidates: Iterable[Candidate], order: Sequence[str], circuits: Circuits, *, now: dt.datetime
) -> Plan:
    """Give each delivery the first provider in ``order`` that may be asked now.

    A provider whose pause is over gets one delivery, its probe; the others pass it over.
    """
    sent_by: dict[str, list[int]] = {}
    probes: dict[str, int] = {}
    postponed: dict[int, dt.datetime] = {}
    stranded: list[int] = []
    for one in candidates:
        allowed = _allowed(order, bound_to(one.channel, one.may_have_it))
        name = _first_open(allowed, circuits, probes, now)
        if not allowed and is_external(one.may_have_it):
            # It went there after our claim began. Back at once, for theirs to take.
            postponed[one.id] = now
        elif not allowed:
            stranded.append(one.id)
        elif not name:
            postponed[one.id] = max(now, reopens_at(allowed, circuits, now))
        elif circuits.get(name, _CLOSED).is_closed:
            sent_by.setdefault(name, []).append(one.id)
        else:
            probes[name] = one.id
    return Plan(sent_by=sent_by, probes=probes, postponed=postponed, stranded=stranded)


def _allowed(order: Sequence[str], only: str) -> Sequence[str]:
    return [name for name in order if only in {"", name}]


def _first_open(
    allowed: Sequence[str], circuits: Circuits, probes: Mapping[str, int], now: dt.datetime
) -> str:
    for name in allowed:
        circuit = circuits.get(name, _CLOSED)
        if circuit.is_closed or (circuit.may_probe(now) and name not in probes):
            return name
    return ""


def reopens_at(names: Sequence[str], circuits: Circuits, now: dt.datetime) -> dt.datetime:
    """When the first of ``names`` may be asked: ``now`` if one is closed already."""
    return min(circuits.get(name, _CLOSED).open_until or now for name in names)


def claimable(order: Sequence[str], circuits: Circuits, limit: int, *, now: dt.datetime) -> int:
    """How many deliveries it makes sense to claim: none while every provider rests, one to probe."""
    if any(circuits.get(name, _CLOSED).is_closed for name in order):
        return limit
    return int(any(circuits[name].may_probe(now) for name in order))


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """What is left for a delivery after its provider's answer.

    ``resting``: that provider's circuit is open now. ``elsewhere``: another provider, that this
    delivery may go to, is closed. ``channel_works``: another one is closed, whoever may go to it.
    ``reopens_at``: when the first that it may go to can be asked.
    """

    resting: bool
    elsewhere: bool
    channel_works: bool
    reopens_at: dt.datetime


def prospect(
    provider: str, only: str, order: Sequence[str], circuits: Circuits, *, now: dt.datetime
) -> Prospect:
    """The prospect after ``circuits`` have learnt of the answer; ``only`` as of :func:`bound_to`."""
    allowed = _allowed(order, only) or [provider]
    others = {name for name in order if name != provider and circuits.get(name, _CLOSED).is_closed}
    return Prospect(
        resting=not circuits.get(provider, _CLOSED).is_closed,
        elsewhere=bool(others.intersection(allowed)),
        channel_works=bool(others),
        reopens_at=reopens_at(allowed, circuits, now),
    )


def decide_ahead(
    outcome: Outcome,
    submission: Submission,
    policy: RetryPolicy,
    *,
    now: dt.datetime,
    draw: float,
    ahead: Prospect,
) -> Decision:
    """:func:`~resetdelivery.domain.decisions.decide`, knowing how the channel's providers do."""
    counted = counts(outcome, ahead)
    decision = decide(
        with_delay(outcome, ahead, now=now),
        submission if counted else replace(submission, attempts=submission.attempts - 1),
        policy,
        now=now,
        draw=draw,
    )
    return replace(
        decision,
        counts=decision.counts and counted,
        pauses_channel=decision.pauses_channel and not ahead.channel_works,
    )


def counts(outcome: Outcome, ahead: Prospect) -> bool:
    """Whether the attempt uses up one of ``max_attempts``.

    One that met a provider's outage does not, once the circuit knows of it: deliveries must not
    be used up by the very attempts that look whether the provider is back. Until then it does,
    as nobody can say yet whether provider or message is at fault.
    """
    down = outcome.kind is OutcomeKind.TRANSIENT and signal_of(outcome) is Signal.OUTAGE
    return not (down and ahead.resting)


def with_delay(outcome: Outcome, ahead: Prospect, *, now: dt.datetime) -> Outcome:
    """``outcome`` with the delay that the providers' state asks for.

    None where another provider can take over at once; where all rest, until the first may be
    asked: that is also the stored moment at which somebody looks whether it is back.
    """
    if outcome.kind not in {OutcomeKind.TRANSIENT, OutcomeKind.THROTTLED} or not ahead.resting:
        return outcome
    if ahead.elsewhere:
        return replace(outcome, retry_after_seconds=0.0)
    wait = (ahead.reopens_at - now).total_seconds()
    return replace(outcome, retry_after_seconds=max(wait, outcome.retry_after_seconds or 0.0))
