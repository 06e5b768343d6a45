"""A provider's circuit: whether to ask it at all, learnt from what came of asking. Pure.

Closed: it is asked. Open: it is passed over until ``open_until``. After that one submission, the
probe, shows whether it is back. Time is an argument; durations are seconds.
"""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace

from notifications.outcome import Outcome, OutcomeKind, Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitPolicy:
    """How soon a circuit opens, and for how long.

    ``threshold`` outages in a row open it for ``pause_seconds``; each probe that fails doubles
    that, up to ``pause_cap_seconds``. ``misconfigured_seconds`` is the pause after a
    configuration error, and the longest that a provider's Retry-After is believed.
    """

    threshold: int = 3
    pause_seconds: float = 5.0
    pause_cap_seconds: float = 30.0
    misconfigured_seconds: float = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Circuit:
    """One provider's state; ``open_until`` is set exactly while it is open.

    ``outages`` counts those in a row and, while open, goes on with the probes that failed.
    ``reason`` is a value of :class:`~notifications.outcome.Reason`: why it opened.
    """

    outages: int = 0
    open_until: dt.datetime | None = None
    reason: str = ""

    @property
    def is_closed(self) -> bool:
        """Whether the provider is asked as usual."""
        return self.open_until is None

    def may_probe(self, now: dt.datetime) -> bool:
        """Whether its pause is over and nobody has found out yet what follows."""
        return self.open_until is not None and self.open_until <= now


class Signal(enum.StrEnum):
    """What an outcome says about the provider, not about the message."""

    ANSWERED = "answered"
    OUTAGE = "outage"
    THROTTLED = "throttled"
    MISCONFIGURED = "misconfigured"
    NOTHING = "nothing"


#: What a provider that is down, or that breaks off, looks like from here.
OUTAGE_REASONS = frozenset(
    {
        Reason.CONNECT_FAILED,
        Reason.DNS_FAILED,
        Reason.TLS_FAILED,
        Reason.DISCONNECTED_BEFORE_SUBMIT,
        Reason.DISCONNECTED_AFTER_SUBMIT,
        Reason.TIMEOUT_BEFORE_SUBMIT,
        Reason.TIMEOUT_AFTER_SUBMIT,
        Reason.PROVIDER_BUSY,
        Reason.PROVIDER_ERROR,
        Reason.UNREADABLE_REPLY,
    }
)


def signal_of(outcome: Outcome) -> Signal:
    """What ``outcome`` says about the provider that gave it."""
    match outcome.kind:
        case OutcomeKind.ACCEPTED | OutcomeKind.PERMANENT:
            return Signal.ANSWERED
        case OutcomeKind.THROTTLED:
            return Signal.THROTTLED
        case OutcomeKind.MISCONFIGURED:
            return Signal.MISCONFIGURED
        case OutcomeKind.TRANSIENT:
            # Greylisting or a full mailbox is an answer about one recipient.
            return Signal.OUTAGE if outcome.reason in OUTAGE_REASONS else Signal.ANSWERED
        case OutcomeKind.AMBIGUOUS if outcome.reason in OUTAGE_REASONS:
            return Signal.OUTAGE
        case _:
            return Signal.NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One submission's word on its provider; ``probe``: it was made to find out."""

    outcome: Outcome
    probe: bool = False


def after(
    circuit: Circuit, reports: Sequence[Report], policy: CircuitPolicy, *, now: dt.datetime, alone: bool
) -> Circuit:
    """The circuit after ``reports``, in the order in which they came in.

    ``alone``: the channel has no other provider, so that throttling is left to each delivery's
    own retry and a configuration error to the channel's pause.
    """
    for report in reports:
        circuit = _after_one(circuit, report, policy, now, alone)
    return circuit


def _after_one(
    circuit: Circuit, report: Report, policy: CircuitPolicy, now: dt.datetime, alone: bool
) -> Circuit:
    # Of an open circuit only the probe tells anything new: others set out before it opened.
    if not circuit.is_closed and not report.probe:
        return circuit
    signal = signal_of(report.outcome)
    if signal is Signal.NOTHING:
        return circuit
    if signal is Signal.ANSWERED or (alone and signal is not Signal.OUTAGE):
        return Circuit() if signal is Signal.ANSWERED or report.probe else circuit
    rest = _told_to_rest(report.outcome, policy)
    if rest is not None:
        return _open(policy.threshold, rest, report.outcome, now)
    return _after_outage(circuit, report.outcome, policy, now)


def _told_to_rest(outcome: Outcome, policy: CircuitPolicy) -> float | None:
    """Seconds to leave the provider alone at once, where the answer says that."""
    if outcome.kind is OutcomeKind.MISCONFIGURED:
        return policy.misconfigured_seconds
    if outcome.kind is OutcomeKind.THROTTLED and outcome.retry_after_seconds is not None:
        return min(max(outcome.retry_after_seconds, 0.0), policy.misconfigured_seconds)
    return None


def _after_outage(circuit: Circuit, outcome: Outcome, policy: CircuitPolicy, now: dt.datetime) -> Circuit:
    outages = circuit.outages + 1
    if outages < policy.threshold:
        return replace(circuit, outages=outages)
    return _open(outages, pause_seconds(policy, outages), outcome, now)


def _open(outages: int, seconds: float, outcome: Outcome, now: dt.datetime) -> Circuit:
    return Circuit(
        outages=outages,
        open_until=now + dt.timedelta(seconds=seconds),
        reason=outcome.reason.value,
    )


#: Doublings after which every pause is as long as its cap.
_MOST_DOUBLINGS = 32


def pause_seconds(policy: CircuitPolicy, outages: int) -> float:
    """How long a circuit opened by an outage rests: doubled with each probe that failed."""
    doublings = min(max(outages - policy.threshold, 0), _MOST_DOUBLINGS)
    return min(policy.pause_cap_seconds, policy.pause_seconds * 2.0**doublings)
