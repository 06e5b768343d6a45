"""What each answer does to its provider's circuit."""

from __future__ import annotations

import datetime as dt

import pytest

from notifications.outcome import Outcome, OutcomeKind, Reason
from resetdelivery.domain.circuit import (
    Circuit,
    CircuitPolicy,
    Report,
    Signal,
    after,
    pause_seconds,
    signal_of,
)

NOW = dt.datetime(2026, 11, 29, 12, 0, tzinfo=dt.UTC)
POLICY = CircuitPolicy(threshold=3, pause_seconds=5, pause_cap_seconds=30, misconfigured_seconds=300)
OK = Outcome(kind=OutcomeKind.ACCEPTED)
DOWN = Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.CONNECT_FAILED)
HUNG = Outcome(kind=OutcomeKind.AMBIGUOUS, reason=Reason.TIMEOUT_AFTER_SUBMIT)
SLOW_DOWN = Outcome(kind=OutcomeKind.THROTTLED, reason=Reason.RATE_LIMITED)
LOCKED_OUT = Outcome(kind=OutcomeKind.MISCONFIGURED, reason=Reason.AUTHENTICATION_FAILED)
BUG = Outcome(kind=OutcomeKind.AMBIGUOUS, reason=Reason.TRANSPORT_BUG)
LATE = Outcome(kind=OutcomeKind.LATE, reason=Reason.DEADLINE_PASSED)

CLOSED = Circuit()
SHAKEN = Circuit(outages=2)


def slow_down(seconds: float) -> Outcome:
    return Outcome(kind=OutcomeKind.THROTTLED, reason=Reason.RATE_LIMITED, retry_after_seconds=seconds)


def opened(outages: int = 3, seconds: float = 5, reason: Reason = Reason.CONNECT_FAILED) -> Circuit:
    return Circuit(outages=outages, open_until=NOW + dt.timedelta(seconds=seconds), reason=reason.value)


@pytest.mark.parametrize(
    ("outcome", "signal"),
    [
        (OK, Signal.ANSWERED),
        (Outcome(kind=OutcomeKind.PERMANENT, reason=Reason.RECIPIENT_REFUSED), Signal.ANSWERED),
        (Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.GREYLISTED), Signal.ANSWERED),
        (Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.MAILBOX_FULL), Signal.ANSWERED),
        (DOWN, Signal.OUTAGE),
        (Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.DNS_FAILED), Signal.OUTAGE),
        (Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.TLS_FAILED), Signal.OUTAGE),
        (Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.PROVIDER_BUSY), Signal.OUTAGE),
        (Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.TIMEOUT_BEFORE_SUBMIT), Signal.OUTAGE),
        (HUNG, Signal.OUTAGE),
        (Outcome(kind=OutcomeKind.AMBIGUOUS, reason=Reason.PROVIDER_ERROR), Signal.OUTAGE),
        (SLOW_DOWN, Signal.THROTTLED),
        (LOCKED_OUT, Signal.MISCONFIGURED),
        (Outcome(kind=OutcomeKind.MISCONFIGURED, reason=Reason.TLS_FAILED), Signal.MISCONFIGURED),
        (BUG, Signal.NOTHING),
        (Outcome(kind=OutcomeKind.AMBIGUOUS, reason=Reason.LOST), Signal.NOTHING),
        (LATE, Signal.NOTHING),
    ],
)
def test_an_outcome_says_this_about_its_provider(outcome: Outcome, signal: Signal) -> None:
    assert signal_of(outcome) is signal


@pytest.mark.parametrize(
    ("before", "outcomes", "alone", "expected"),
    [
        (CLOSED, [OK], False, CLOSED),
        (CLOSED, [DOWN], False, Circuit(outages=1)),
        (CLOSED, [DOWN, DOWN], False, SHAKEN),
        (CLOSED, [DOWN, OK, DOWN], False, Circuit(outages=1)),
        (SHAKEN, [OK], False, CLOSED),
        (SHAKEN, [DOWN], False, opened()),
        (SHAKEN, [DOWN], True, opened()),
        (SHAKEN, [HUNG], False, opened(reason=Reason.TIMEOUT_AFTER_SUBMIT)),
        # A wave that fails as a whole opens it as if it had been three.
        (CLOSED, [DOWN] * 16, False, opened()),
        (CLOSED, [LATE, BUG], False, CLOSED),
        (SHAKEN, [LATE, BUG], False, SHAKEN),
        # Throttling and configuration errors are only failed over where there is somebody else.
        (CLOSED, [slow_down(7)], False, opened(seconds=7, reason=Reason.RATE_LIMITED)),
        (CLOSED, [slow_down(7)], True, CLOSED),
        (CLOSED, [slow_down(86_400)], False, opened(seconds=300, reason=Reason.RATE_LIMITED)),
        (CLOSED, [slow_down(-1)], False, opened(seconds=0, reason=Reason.RATE_LIMITED)),
        (CLOSED, [SLOW_DOWN], False, Circuit(outages=1)),
        (SHAKEN, [SLOW_DOWN], False, opened(reason=Reason.RATE_LIMITED)),
        (SHAKEN, [SLOW_DOWN], True, SHAKEN),
        (CLOSED, [LOCKED_OUT], False, opened(seconds=300, reason=Reason.AUTHENTICATION_FAILED)),
        (CLOSED, [LOCKED_OUT], True, CLOSED),
    ],
)
def test_answers_move_a_closed_circuit(
    before: Circuit, outcomes: list[Outcome], alone: bool, expected: Circuit
) -> None:
    reports = [Report(outcome=outcome) for outcome in outcomes]
    assert after(before, reports, POLICY, now=NOW, alone=alone) == expected


@pytest.mark.parametrize(
    ("outcome", "alone", "expected"),
    [
        (OK, False, CLOSED),
        (OK, True, CLOSED),
        (Outcome(kind=OutcomeKind.PERMANENT, reason=Reason.INVALID_DESTINATION), False, CLOSED),
        (DOWN, False, opened(4, 10)),
        (DOWN, True, opened(4, 10)),
        (LOCKED_OUT, False, opened(3, 300, Reason.AUTHENTICATION_FAILED)),
        # It answers again: the channel's own pause is for what is left.
        (LOCKED_OUT, True, CLOSED),
        (slow_down(7), True, CLOSED),
        (LATE, False, opened(seconds=1)),
    ],
)
def test_a_probe_moves_an_open_circuit(outcome: Outcome, alone: bool, expected: Circuit) -> None:
    probe = Report(outcome=outcome, probe=True)
    assert after(opened(seconds=1), [probe], POLICY, now=NOW, alone=alone) == expected


@pytest.mark.parametrize("outcome", [OK, DOWN, LOCKED_OUT, slow_down(7)])
def test_what_set_out_before_it_opened_moves_it_no_more(outcome: Outcome) -> None:
    assert after(opened(), [Report(outcome=outcome)], POLICY, now=NOW, alone=False) == opened()


@pytest.mark.parametrize(
    ("outages", "seconds"), [(1, 5), (3, 5), (4, 10), (5, 20), (6, 30), (7, 30), (10_000, 30)]
)
def test_each_probe_that_fails_doubles_the_pause_up_to_its_cap(outages: int, seconds: float) -> None:
    assert pause_seconds(POLICY, outages) == seconds


@pytest.mark.parametrize(
    ("circuit", "due"), [(CLOSED, False), (opened(seconds=1), False), (opened(seconds=0), True)]
)
def test_a_probe_is_due_when_the_pause_is_over(circuit: Circuit, due: bool) -> None:
    assert circuit.may_probe(NOW) is due
