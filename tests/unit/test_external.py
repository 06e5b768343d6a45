from __future__ import annotations

import datetime as dt

import pytest
from django.db.models import CharField, Model

from notifications.channels import Channel
from notifications.outcome import Outcome, OutcomeKind, Reason
from resetdelivery.domain.decisions import Decision, Submission, decide
from resetdelivery.domain.external import (
    MAX_WORKER_ID,
    decide_external,
    in_turn,
    is_external,
    owner_of,
    sender_in,
    sender_of,
)
from resetdelivery.domain.failover import Candidate, plan
from resetdelivery.domain.lease import lease_seconds, longest_lease_seconds, shortest_lease_seconds
from resetdelivery.domain.retry import RetryPolicy
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import Attempt, Delivery

NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
POLICY = RetryPolicy()
LOCKED_OUT = Outcome(kind=OutcomeKind.MISCONFIGURED, reason=Reason.AUTHENTICATION_FAILED)


def submission(*, life: float = 600, cancel_reason: str = "", attempts: int = 1) -> Submission:
    return Submission(
        attempts=attempts,
        ambiguous_attempts=0,
        expires_at=NOW + dt.timedelta(seconds=life),
        cancel_reason=cancel_reason,
    )


@pytest.mark.parametrize(
    ("draw", "first"), [(0.0, "email"), (0.499, "email"), (0.5, "sms"), (0.999_999, "sms")]
)
def test_a_turn_begins_with_any_channel_and_leaves_none_out(draw: float, first: str) -> None:
    found = in_turn(list(Channel), draw)
    assert (found[0], set(found), len(found)) == (first, set(Channel), len(Channel))


def test_one_channel_is_a_turn() -> None:
    assert in_turn([Channel.SMS], 0.999_999) == [Channel.SMS]


def room(model: type[Model], name: str) -> int:
    """How many characters a column takes."""
    column = model._meta.get_field(name)
    assert isinstance(column, CharField)
    return column.max_length or 0


def test_names_fit_their_columns_whatever_a_client_is_called() -> None:
    sender = sender_of("x" * 64)
    owner = owner_of(sender, "w" * MAX_WORKER_ID)
    assert len(sender) <= room(Attempt, "transport")
    assert len(owner) <= min(room(Delivery, "lease_owner"), room(Attempt, "worker"))


@pytest.mark.parametrize("length", [1, 26, 27, 28, 64])
def test_a_client_is_known_again_by_its_lease(length: int) -> None:
    sender = sender_of("c" * length)
    assert sender_in(owner_of(sender, "w.1_2-3")) == sender
    assert is_external(sender)


def test_clients_whose_names_begin_alike_are_told_apart() -> None:
    names = ["a" * length for length in range(20, 64)] + ["a" * 40 + end for end in "bcd"]
    assert len({sender_of(name) for name in names}) == len(names)


@pytest.mark.parametrize("name", ["smtp", "main", "anymail", ""])
def test_no_provider_of_ours_is_taken_for_a_client(name: str) -> None:
    assert not is_external(name)


@pytest.mark.parametrize("kind", [kind for kind in OutcomeKind if kind is not OutcomeKind.MISCONFIGURED])
def test_every_outcome_but_a_configuration_error_leads_where_it_leads_for_us(kind: OutcomeKind) -> None:
    outcome = Outcome(kind=kind, reason=Reason.PROVIDER_BUSY)
    ours = decide(outcome, submission(), POLICY, now=NOW, draw=0.5)
    assert decide_external(outcome, submission(), POLICY, tries=1, now=NOW, draw=0.5) == ours


@pytest.mark.parametrize(
    ("tries", "retry_after", "delay"),
    [
        (1, None, 2),
        (2, None, 4),
        (3, None, 8),
        (99, None, 60),  # the policy's cap
        (1, 30.0, 30),
        (5, 1.0, 32),  # no provider's wish shortens it
    ],
)
def test_after_a_configuration_error_it_waits_longer_each_time_and_nothing_is_used_up(
    tries: int, retry_after: float | None, delay: float
) -> None:
    outcome = Outcome(
        kind=OutcomeKind.MISCONFIGURED, reason=Reason.ACCOUNT_SUSPENDED, retry_after_seconds=retry_after
    )
    decision = decide_external(outcome, submission(), POLICY, tries=tries, now=NOW, draw=0.0)
    assert decision == Decision(
        state=DeliveryState.PENDING,
        reason="account_suspended",
        due_at=NOW + dt.timedelta(seconds=delay),
        counts=False,
        pauses_channel=False,
    )


@pytest.mark.parametrize(
    ("about", "state", "reason"),
    [
        (submission(life=34), DeliveryState.EXPIRED, "retry_does_not_fit"),  # 2 + 1 + 2 + 30 needed
        (submission(life=35), DeliveryState.PENDING, "authentication_failed"),
        (submission(life=31), DeliveryState.EXPIRED, "authentication_failed"),  # past help already
        (submission(cancel_reason="withdrawn"), DeliveryState.CANCELLED, "withdrawn"),
    ],
)
def test_a_configuration_error_can_end_a_delivery_but_pauses_no_channel(
    about: Submission, state: DeliveryState, reason: str
) -> None:
    decision = decide_external(LOCKED_OUT, about, POLICY, tries=1, now=NOW, draw=0.0)
    assert (decision.state, decision.reason) == (state, reason)
    assert (decision.counts, decision.pauses_channel) == (False, False)


@pytest.mark.parametrize(
    ("channel", "may_have_it", "where"),
    [
        (Channel.SMS, sender_of("mailer"), "postponed"),
        (Channel.SMS, "gone", "stranded"),
        (Channel.EMAIL, sender_of("mailer"), "main"),
    ],
)
def test_a_text_message_that_a_client_may_have_goes_back_to_it_and_is_not_ended(
    channel: Channel, may_have_it: str, where: str
) -> None:
    found = plan([Candidate(id=7, channel=channel, may_have_it=may_have_it)], ["main"], {}, now=NOW)
    assert (found.postponed == {7: NOW}) == (where == "postponed")
    assert (list(found.stranded) == [7]) == (where == "stranded")
    assert (found.sent_by == {"main": [7]}) == (where == "main")


def test_the_shortest_lease_is_the_one_that_our_own_workers_are_held_to() -> None:
    assert shortest_lease_seconds(15, 5) == lease_seconds(0, 15, 5) == 20


@pytest.mark.parametrize(("usual", "shortest", "longest"), [(30, 20, 300), (1, 20, 20)])
def test_the_longest_lease_is_ten_usual_ones_and_never_below_the_shortest(
    usual: float, shortest: float, longest: float
) -> None:
    assert longest_lease_seconds(usual, shortest) == longest
