"""Workers outside the project against each other, against our own, and against the sweep."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import pytest
from django.db import connection

from notifications.channels import Channel
from notifications.outcome import Outcome
from notifications.testing import ScriptedTransport
from resetdelivery import external
from resetdelivery.claims import Hold
from resetdelivery.clock import database_now
from resetdelivery.delivery import deliver
from resetdelivery.domain.states import DeliveryState
from resetdelivery.external import AlreadyMarked, NotSendable, StaleLease
from resetdelivery.models import Attempt, ChannelControl, Delivery, ResetIntent
from resetdelivery.recovery import sweep
from tests.integration.external_steps import MAILER, OTHER, claim, held, marked, reset_for
from tests.interleavings.racing import behind, together
from tests.steps import ACCEPTED, REFUSED, seconds, store, take

S = DeliveryState
INTENT = f"SELECT 1 FROM {ResetIntent._meta.db_table} WHERE id = %s FOR UPDATE"
CONTROL = ChannelControl._meta.db_table


def let_leases_run_out() -> None:
    Delivery.objects.exclude(lease_expires_at=None).update(
        lease_expires_at=database_now(connection) - seconds(1)
    )


def outside(sender: str, worker_id: str) -> list[str]:
    """Everything that one worker outside gets by claiming a few at a time."""
    batches = iter(lambda: claim(sender=sender, worker_id=worker_id, limit=7), [])
    return [str(work.reference) for work in itertools.chain.from_iterable(batches)]


def inside(owner: str) -> list[str]:
    batches = iter(lambda: take(limit=7, owner=owner), [])
    return [str(one.reference) for one in itertools.chain.from_iterable(batches)]


def test_no_row_is_held_by_two_whoever_claims_at_once() -> None:
    store(200, overdue=5)
    claimers = [
        partial(outside, MAILER, "w1"),
        partial(outside, MAILER, "w2"),
        partial(outside, OTHER, "w1"),
        partial(inside, "host:1"),
    ]
    taken = list(itertools.chain.from_iterable(together(*claimers)))
    assert len(taken) == len(set(taken))
    taken += outside(MAILER, "w3")
    assert sorted(taken) == sorted(str(row.reference) for row in Delivery.objects.all())
    assert set(Delivery.objects.values_list("lease_token", "claims")) == {(1, 1)}


def asked_for(hold: Hold) -> str:
    """How asking for the message went, in a word."""
    try:
        external.hand_out(hold)
    except (AlreadyMarked, StaleLease, NotSendable) as refusal:
        return type(refusal).__name__
    return "handed out"


def test_a_message_that_is_asked_for_twice_at_once_is_handed_out_once(account: Any) -> None:
    reset_for(account)
    hold = held()
    intent = ResetIntent.objects.get().pk
    answers = behind(INTENT, [intent], *[partial(asked_for, hold)] * 3)
    assert sorted(answers) == ["AlreadyMarked", "AlreadyMarked", "handed out"]
    assert Attempt.objects.count() == 1
    assert Delivery.objects.get().state == S.SUBMITTING


def test_nothing_is_handed_out_once_its_channel_is_paused_even_while_it_was_being_marked(
    account: Any,
) -> None:
    reset_for(account)
    hold = held()
    pausing = f"UPDATE {CONTROL} SET paused = true, pause_reason = 'operator' WHERE channel = %s"
    assert behind(pausing, ["email"], partial(asked_for, hold)) == ["NotSendable"]
    assert (Delivery.objects.get().state, Attempt.objects.exists()) == (S.PENDING, False)


def told(hold: Hold, outcome: Outcome) -> str:
    try:
        return external.report(hold, outcome)
    except StaleLease:
        return "stale"


def test_one_outcome_that_is_told_many_times_at_once_is_settled_once(account: Any) -> None:
    reset_for(account)
    hold = marked()
    intent = ResetIntent.objects.get().pk
    answers = behind(INTENT, [intent], *[partial(told, hold, ACCEPTED)] * 4, waiters=4)
    attempt = Attempt.objects.get()
    assert answers == [S.ACCEPTED] * 4
    assert (attempt.outcome, attempt.late_outcome) == ("accepted", "")


def test_of_two_different_outcomes_at_once_one_is_settled_and_the_other_leaves_no_trace(account: Any) -> None:
    reset_for(account)
    hold = marked()
    intent = ResetIntent.objects.get().pk
    answers = behind(INTENT, [intent], partial(told, hold, ACCEPTED), partial(told, hold, REFUSED))
    attempt, row = Attempt.objects.get(), Delivery.objects.get()
    assert sorted(answers) in (["accepted", "stale"], ["failed", "stale"])
    assert row.state in answers
    assert (attempt.outcome, attempt.late_outcome) == (row.outcome, "")


@pytest.mark.parametrize("outcome", [ACCEPTED, REFUSED])
def test_an_outcome_that_meets_the_sweep_is_settled_or_late_and_never_both(
    account: Any, outcome: Outcome
) -> None:
    reset_for(account)
    hold = marked()
    let_leases_run_out()
    intent = ResetIntent.objects.get().pk

    def sweep_it() -> str:
        sweep()
        return "swept"

    answers = behind(INTENT, [intent], partial(told, hold, outcome), sweep_it)
    attempt, row = Attempt.objects.get(), Delivery.objects.get()
    if answers[0] == "stale":
        assert (row.state, attempt.outcome, attempt.late_outcome) == (S.PENDING, "ambiguous", outcome.kind)
    else:
        assert (row.state, attempt.outcome, attempt.late_outcome) == (answers[0], outcome.kind, "")


def test_a_zombies_outcome_after_another_took_over_touches_its_own_attempt_alone(account: Any) -> None:
    reset_for(account)
    zombie = marked()
    let_leases_run_out()
    sweep()
    Delivery.objects.update(due_at=database_now(connection) - seconds(1))
    deliver(Channel.EMAIL, transport=ScriptedTransport())
    before = Delivery.objects.values().get(), ResetIntent.objects.values().get()
    assert together(partial(told, zombie, REFUSED), partial(told, zombie, REFUSED)) == ["stale", "stale"]
    assert (Delivery.objects.values().get(), ResetIntent.objects.values().get()) == before
    assert list(Attempt.objects.order_by("number").values_list("outcome", "late_outcome")) == [
        ("ambiguous", "permanent"),
        ("accepted", ""),
    ]


def renewed(hold: Hold) -> str:
    try:
        external.renew(hold, lease_seconds=60)
    except (AlreadyMarked, StaleLease):
        return "refused"
    return "renewed"


def test_a_renewal_that_meets_the_mark_never_touches_its_deadline(account: Any) -> None:
    reset_for(account)
    hold = held()
    intent = ResetIntent.objects.get().pk
    # The mark waits for the intent; the renewal, which needs none, comes first or sees the mark.
    answers = behind(INTENT, [intent], partial(asked_for, hold), partial(renewed, hold), waiters=1)
    row, attempt = Delivery.objects.get(), Attempt.objects.get()
    assert answers[0] == "handed out"
    assert row.lease_expires_at is not None
    assert abs(row.lease_expires_at - attempt.started_at - seconds(20)) < seconds(1)
    assert renewed(hold) == "refused"
