"""Which provider gets a delivery, and what an outage leaves of it."""

from __future__ import annotations

import datetime as dt

import pytest

from notifications.channels import Channel
from notifications.outcome import Outcome, OutcomeKind, Reason
from resetdelivery.domain.circuit import Circuit
from resetdelivery.domain.decisions import Submission
from resetdelivery.domain.failover import (
    Candidate,
    Circuits,
    Plan,
    Prospect,
    bound_to,
    claimable,
    decide_ahead,
    plan,
    prospect,
)
from resetdelivery.domain.retry import RetryPolicy
from resetdelivery.domain.states import DeliveryState

NOW = dt.datetime(2026, 11, 29, 12, 0, tzinfo=dt.UTC)
ORDER = ("main", "second")
SHAKEN = Circuit(outages=2)
DUE = Circuit(outages=3, open_until=NOW)
OPEN = Circuit(outages=3, open_until=NOW + dt.timedelta(seconds=5))
LONG_OPEN = Circuit(outages=3, open_until=NOW + dt.timedelta(seconds=300))
IN_FIVE = NOW + dt.timedelta(seconds=5)


def one(id: int = 1, channel: Channel = Channel.SMS, may_have_it: str = "") -> Candidate:
    return Candidate(id=id, channel=channel, may_have_it=may_have_it)


def a_plan(
    sent_by: dict[str, list[int]] | None = None,
    probes: dict[str, int] | None = None,
    postponed: dict[int, dt.datetime] | None = None,
    stranded: list[int] | None = None,
) -> Plan:
    return Plan(
        sent_by=sent_by or {}, probes=probes or {}, postponed=postponed or {}, stranded=stranded or []
    )


@pytest.mark.parametrize(
    ("circuits", "expected"),
    [
        ({}, a_plan({"main": [1, 2, 3]})),
        ({"main": SHAKEN}, a_plan({"main": [1, 2, 3]})),
        ({"second": OPEN}, a_plan({"main": [1, 2, 3]})),
        ({"main": OPEN}, a_plan({"second": [1, 2, 3]})),
        ({"main": DUE}, a_plan({"second": [2, 3]}, {"main": 1})),
        ({"main": OPEN, "second": DUE}, a_plan({}, {"second": 1}, {2: NOW, 3: NOW})),
        ({"main": DUE, "second": DUE}, a_plan({}, {"main": 1, "second": 2}, {3: NOW})),
        ({"main": LONG_OPEN, "second": OPEN}, a_plan(postponed=dict.fromkeys([1, 2, 3], IN_FIVE))),
    ],
)
def test_the_first_provider_that_may_be_asked_gets_a_delivery(circuits: Circuits, expected: Plan) -> None:
    assert plan([one(1), one(2), one(3)], ORDER, circuits, now=NOW) == expected


@pytest.mark.parametrize(
    ("channel", "circuits", "expected"),
    [
        (Channel.SMS, {}, a_plan({"second": [1]})),
        (Channel.SMS, {"second": OPEN}, a_plan(postponed={1: IN_FIVE})),
        (Channel.SMS, {"second": DUE}, a_plan({}, {"second": 1})),
        (Channel.EMAIL, {}, a_plan({"main": [1]})),
        (Channel.EMAIL, {"main": OPEN, "second": OPEN}, a_plan(postponed={1: IN_FIVE})),
    ],
)
def test_a_text_message_that_a_provider_may_have_goes_to_nobody_else(
    channel: Channel, circuits: Circuits, expected: Plan
) -> None:
    assert plan([one(1, channel, "second")], ORDER, circuits, now=NOW) == expected


def test_a_text_message_that_only_a_removed_provider_may_have_is_stranded() -> None:
    found = plan([one(1, may_have_it="old"), one(2, Channel.EMAIL, "old")], ORDER, {}, now=NOW)
    assert found == a_plan({"main": [2]}, stranded=[1])


@pytest.mark.parametrize(
    ("circuits", "limit"),
    [
        ({}, 50),
        ({"main": OPEN}, 50),
        ({"second": OPEN}, 50),
        ({"main": OPEN, "second": OPEN}, 0),
        ({"main": DUE, "second": OPEN}, 1),
        ({"main": OPEN, "second": DUE}, 1),
        # What is configured no more neither helps nor hinders.
        ({"main": OPEN, "second": OPEN, "old": DUE}, 0),
    ],
)
def test_so_many_deliveries_are_worth_claiming(circuits: Circuits, limit: int) -> None:
    assert claimable(ORDER, circuits, 50, now=NOW) == limit


@pytest.mark.parametrize(
    ("circuits", "only", "expected"),
    [
        ({}, "", (False, True, True, NOW)),
        ({"main": OPEN}, "", (True, True, True, NOW)),
        ({"main": OPEN, "second": SHAKEN}, "", (True, True, True, NOW)),
        ({"main": OPEN, "second": LONG_OPEN}, "", (True, False, False, IN_FIVE)),
        ({"main": LONG_OPEN, "second": OPEN}, "", (True, False, False, IN_FIVE)),
        ({"main": OPEN}, "main", (True, False, True, IN_FIVE)),
    ],
)
def test_a_delivery_has_this_before_it_after_an_answer_of_the_first_provider(
    circuits: Circuits, only: str, expected: tuple[bool, bool, bool, dt.datetime]
) -> None:
    found = prospect("main", only, ORDER, circuits, now=NOW)
    assert (found.resting, found.elsewhere, found.channel_works, found.reopens_at) == expected


POLICY = RetryPolicy(base_seconds=2, max_attempts=6, max_ambiguous_resends=1)
DOWN = Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.CONNECT_FAILED)
GREY = Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.GREYLISTED)
HUNG = Outcome(kind=OutcomeKind.AMBIGUOUS, reason=Reason.TIMEOUT_AFTER_SUBMIT)
SLOW_DOWN = Outcome(kind=OutcomeKind.THROTTLED, reason=Reason.RATE_LIMITED, retry_after_seconds=90)
LOCKED_OUT = Outcome(kind=OutcomeKind.MISCONFIGURED, reason=Reason.AUTHENTICATION_FAILED)

FINE = Prospect(resting=False, elsewhere=True, channel_works=True, reopens_at=NOW)
OVER = Prospect(resting=True, elsewhere=True, channel_works=True, reopens_at=NOW)
BOUND = Prospect(resting=True, elsewhere=False, channel_works=True, reopens_at=IN_FIVE)
ALL_OUT = Prospect(resting=True, elsewhere=False, channel_works=False, reopens_at=IN_FIVE)
S = DeliveryState


@pytest.mark.parametrize(
    ("outcome", "ahead", "attempts", "state", "delay", "counts", "pauses"),
    [
        (DOWN, FINE, 1, S.PENDING, 1, True, False),
        (DOWN, FINE, 6, S.FAILED, None, True, False),
        (DOWN, OVER, 1, S.PENDING, 0, False, False),
        (DOWN, ALL_OUT, 1, S.PENDING, 5, False, False),
        # The last attempt is not used up by an outage that is known.
        (DOWN, ALL_OUT, 6, S.PENDING, 5, False, False),
        (DOWN, BOUND, 6, S.PENDING, 5, False, False),
        (GREY, OVER, 6, S.FAILED, None, True, False),
        (HUNG, ALL_OUT, 6, S.FAILED, None, True, False),
        (HUNG, OVER, 1, S.PENDING, 1, True, False),
        (SLOW_DOWN, FINE, 1, S.PENDING, 90, True, False),
        (SLOW_DOWN, OVER, 1, S.PENDING, 0, True, False),
        (SLOW_DOWN, ALL_OUT, 1, S.PENDING, 90, True, False),
        (LOCKED_OUT, OVER, 1, S.PENDING, 0, False, False),
        (LOCKED_OUT, BOUND, 1, S.PENDING, 0, False, False),
        (LOCKED_OUT, ALL_OUT, 1, S.PENDING, 0, False, True),
    ],
)
def test_an_answer_leads_to_this_as_the_providers_stand(
    outcome: Outcome,
    ahead: Prospect,
    attempts: int,
    state: DeliveryState,
    delay: float | None,
    counts: bool,
    pauses: bool,
) -> None:
    submission = Submission(
        attempts=attempts, ambiguous_attempts=0, expires_at=NOW + dt.timedelta(minutes=10)
    )
    found = decide_ahead(outcome, submission, POLICY, now=NOW, draw=0.5, ahead=ahead)
    due_at = None if delay is None else NOW + dt.timedelta(seconds=delay)
    assert (found.state, found.due_at, found.counts, found.pauses_channel) == (state, due_at, counts, pauses)


@pytest.mark.parametrize(("channel", "only"), [(Channel.SMS, "main"), (Channel.EMAIL, "")])
def test_only_a_text_message_is_bound_to_who_may_have_it(channel: Channel, only: str) -> None:
    assert bound_to(channel, "main") == only
