from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from django.db import connection

from notifications.channels import Channel
from notifications.message import EmailMessage
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.testing import ScriptedTransport
from resetdelivery.cancellation import request_cancel
from resetdelivery.claims import Marked
from resetdelivery.clock import database_now
from resetdelivery.delivery import deliver
from resetdelivery.domain.reasons import CancelReason
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import Attempt, ChannelControl, Delivery, ResetIntent
from resetdelivery.recovery import sweep
from resetdelivery.services import request_reset
from tests.conftest import UseTransport, age, the_delivery
from tests.steps import ACCEPTED, BUSY, CUT, LOCKED_OUT, REFUSED, answer, record, store, take

pytestmark = pytest.mark.django_db

S = DeliveryState


def submitting(**fields: Any) -> tuple[Delivery, Marked]:
    (row,) = store(overdue=5, **fields)
    (marked,) = record(take(Channel(row.channel), ids=[row.pk], limit=1))
    return row, marked


@pytest.mark.parametrize(
    ("outcome", "state", "shown"),
    [
        (ACCEPTED, S.ACCEPTED, "accepted"),
        (REFUSED, S.FAILED, "permanent"),
        (BUSY, S.PENDING, "transient"),
        (CUT, S.PENDING, "ambiguous"),
        (LOCKED_OUT, S.PENDING, "misconfigured"),
        (Outcome(kind=OutcomeKind.LATE, reason=Reason.DEADLINE_PASSED), S.PENDING, "late"),
        (Outcome(kind=OutcomeKind.THROTTLED, reason=Reason.RATE_LIMITED), S.PENDING, "throttled"),
    ],
)
def test_an_outcome_is_written_to_the_delivery_and_to_its_attempt(
    outcome: Outcome, state: S, shown: str
) -> None:
    row, marked = submitting()
    (settled,) = answer([marked], outcome)
    row.refresh_from_db()
    attempt = Attempt.objects.get()
    assert not settled.fenced_out
    assert (row.state, row.outcome, attempt.outcome) == (state, shown, shown)
    assert (attempt.reason, attempt.late_outcome) == (outcome.reason, "")
    assert attempt.duration_seconds == 0.25
    assert attempt.finished_at is not None


@pytest.mark.parametrize(("outcome", "closed"), [(ACCEPTED, True), (REFUSED, True), (BUSY, False)])
def test_an_intent_closes_with_its_last_delivery(outcome: Outcome, closed: bool) -> None:
    _, marked = submitting()
    answer([marked], outcome)
    intent = ResetIntent.objects.get()
    assert (intent.state == "closed", intent.closed_at is not None) == (closed, closed)


def test_a_retry_is_due_after_its_drawn_delay_and_nobody_was_told_of_it() -> None:
    row, marked = submitting(hinted_at=database_now(connection))
    answer([marked], Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.PROVIDER_BUSY), draw=0.5)
    row.refresh_from_db()
    assert row.due_at - marked.started_at == dt.timedelta(seconds=0.25 + 1)  # half of two seconds
    assert (row.hinted_at, row.lease_owner, row.lease_expires_at) == (None, "", None)


def test_a_retry_that_does_not_fit_expires_with_its_reason() -> None:
    row, marked = submitting(life=20)
    answer([marked], Outcome(kind=OutcomeKind.THROTTLED, reason=Reason.RATE_LIMITED, retry_after_seconds=60))
    row.refresh_from_db()
    assert (row.state, row.reason, row.outcome) == (S.EXPIRED, "retry_does_not_fit", "throttled")


def test_a_row_whose_claims_are_used_up_fails_in_the_step_that_would_return_it() -> None:
    row, marked = submitting(claims=9)
    answer([marked], BUSY, max_claims=10)
    row.refresh_from_db()
    assert (row.state, row.reason, row.claims) == (S.FAILED, "claims_used_up", 10)


def test_a_row_with_its_last_claim_is_still_accepted() -> None:
    row, marked = submitting(claims=9)
    answer([marked], ACCEPTED, max_claims=10)
    row.refresh_from_db()
    assert row.state == S.ACCEPTED


def test_attempts_that_count_are_used_up() -> None:
    row, marked = submitting(attempts=5)
    answer([marked], BUSY)
    row.refresh_from_db()
    assert (row.state, row.reason, row.attempts) == (S.FAILED, "attempts_used_up", 6)


def test_a_configuration_error_counts_as_no_attempt_and_no_claim() -> None:
    row, marked = submitting()
    answer([marked], LOCKED_OUT)
    row.refresh_from_db()
    assert (row.attempts, row.claims, Attempt.objects.count()) == (0, 0, 1)


def test_numbers_of_attempts_go_on_after_one_that_did_not_count() -> None:
    row, marked = submitting()
    answer([marked], LOCKED_OUT)
    ChannelControl.objects.update(paused=False)
    age(1)
    (again,) = record(take())
    assert again.claimed.id == row.pk
    assert list(Attempt.objects.order_by("number").values_list("number", flat=True)) == [1, 2]


def test_an_ambiguous_outcome_stays_shown_until_one_is_accepted() -> None:
    row, marked = submitting()
    answer([marked], CUT)
    for outcome, shown in ((BUSY, "ambiguous"), (REFUSED, "ambiguous")):
        age(1)
        answer(record(take(ids=[row.pk])), outcome)
        row.refresh_from_db()
        assert row.outcome == shown
    assert row.state == S.FAILED


def test_an_acceptance_after_an_ambiguous_attempt_is_what_counts() -> None:
    row, marked = submitting()
    answer([marked], CUT)
    age(1)
    answer(record(take(ids=[row.pk])), ACCEPTED)
    row.refresh_from_db()
    assert (row.state, row.outcome) == (S.ACCEPTED, "accepted")
    assert [a.outcome for a in Attempt.objects.order_by("number")] == ["ambiguous", "accepted"]


@pytest.mark.parametrize(
    ("outcome", "state", "shown"),
    [
        (BUSY, S.CANCELLED, "transient"),
        (CUT, S.CANCELLED, "ambiguous"),
        (LOCKED_OUT, S.CANCELLED, "misconfigured"),
        (ACCEPTED, S.ACCEPTED, "accepted"),
        (REFUSED, S.FAILED, "permanent"),
    ],
)
def test_a_cancel_while_it_was_on_its_way_stops_the_next_try(outcome: Outcome, state: S, shown: str) -> None:
    row, marked = submitting()
    request_cancel(account_ref=row.intent.account_ref, reason=CancelReason.WITHDRAWN, using="default")
    answer([marked], outcome)
    row.refresh_from_db()
    assert (row.state, row.outcome) == (state, shown)
    assert ResetIntent.objects.get().state == "closed"


@pytest.mark.parametrize("outcome", [ACCEPTED, REFUSED, BUSY, CUT])
def test_a_zombie_changes_nothing_but_its_attempts_late_outcome(outcome: Outcome) -> None:
    _, marked = submitting()
    age(60)
    assert sweep().put_back == 1
    before = Delivery.objects.values().get(), ResetIntent.objects.values().get()
    (settled,) = answer([marked], outcome)
    attempt = Attempt.objects.get()
    assert settled.fenced_out
    assert (Delivery.objects.values().get(), ResetIntent.objects.values().get()) == before
    assert (attempt.outcome, attempt.reason, attempt.late_outcome) == ("ambiguous", "lost", outcome.kind)


def test_a_zombie_does_not_settle_the_new_holders_submission() -> None:
    row, marked = submitting()
    age(60)
    sweep()
    age(120)
    (newer,) = record(take(ids=[row.pk]))
    (settled,) = answer([marked], REFUSED)
    row.refresh_from_db()
    assert settled.fenced_out
    assert (row.state, row.lease_token) == (S.SUBMITTING, newer.claimed.token)
    assert answer([newer], ACCEPTED)[0].fenced_out is False


def test_what_is_settled_twice_is_settled_once() -> None:
    row, marked = submitting()
    answer([marked], ACCEPTED)
    (again,) = answer([marked], REFUSED)
    row.refresh_from_db()
    assert again.fenced_out
    assert (row.state, Attempt.objects.get().outcome) == (S.ACCEPTED, "accepted")


def test_a_wave_settles_each_of_its_rows_by_its_own_outcome(
    make_account: Any, use_transport: UseTransport, db: None
) -> None:
    use_transport(Channel.EMAIL, ScriptedTransport(outcomes=[ACCEPTED, REFUSED, CUT, BUSY]))
    for _ in range(4):
        request_reset(account_ref=str(make_account().pk), channels=["email"])
    deliver(Channel.EMAIL)
    found = sorted(Delivery.objects.values_list("state", "outcome"))
    assert found == [
        ("accepted", "accepted"),
        ("failed", "permanent"),
        ("pending", "ambiguous"),
        ("pending", "transient"),
    ]


def test_an_email_is_sent_again_after_an_ambiguous_answer_with_the_same_link_and_id(
    account: Any, use_transport: UseTransport
) -> None:
    email = use_transport(Channel.EMAIL, ScriptedTransport(outcomes=[CUT] * 2))
    request_reset(account_ref=str(account.pk), channels=["email"])
    for _ in range(3):
        deliver(Channel.EMAIL)
    first, *others = email.messages
    assert len(others) == 2
    assert all(isinstance(other, EmailMessage) and other == first for other in others)
    assert the_delivery().state == S.ACCEPTED


def test_a_text_message_is_sent_at_most_once_more_after_ambiguous_answers(
    account: Any, use_transport: UseTransport
) -> None:
    sms = use_transport(Channel.SMS, ScriptedTransport(outcomes=[CUT] * 5))
    request_reset(account_ref=str(account.pk), channels=["sms"])
    for _ in range(5):
        deliver(Channel.SMS)
    row = the_delivery(Channel.SMS)
    assert len(sms.messages) == 2
    assert (row.state, row.reason, row.outcome) == (S.FAILED, "ambiguous_resends_used_up", "ambiguous")


def test_a_transport_with_a_bug_gives_an_ambiguous_attempt(account: Any, use_transport: UseTransport) -> None:
    use_transport(Channel.EMAIL, ScriptedTransport(outcomes=[RuntimeError("to " + account.email)]))
    request_reset(account_ref=str(account.pk), channels=["email"])
    deliver(Channel.EMAIL)
    attempt = Attempt.objects.get(number=1)
    assert (attempt.outcome, attempt.reason) == ("ambiguous", "transport_bug")
