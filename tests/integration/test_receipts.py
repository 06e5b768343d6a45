"""A provider's later word: what it changes on its attempt, and on its delivery."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from notifications.receipts.receipt import Receipt, ReceiptVerdict
from resetdelivery.claims import release
from resetdelivery.domain.states import FINISHED_STATES, DeliveryState
from resetdelivery.models import Attempt, Delivery, ResetIntent
from resetdelivery.receipts import RecordedReceipt
from resetdelivery.receipts import record as record_receipt
from resetdelivery.recovery import sweep
from resetdelivery.services import explain
from tests.conftest import age
from tests.later_words import attempt_of, hear
from tests.sinks import pages
from tests.steps import ACCEPTED, BUSY, CUT, LOCKED_OUT, REFUSED, answer, record, store, take

pytestmark = pytest.mark.django_db

S = DeliveryState
V = ReceiptVerdict
R = RecordedReceipt


def the_row() -> Delivery:
    return Delivery.objects.get()


def accept() -> Attempt:
    """One accepted delivery; its attempt."""
    store(overdue=5)
    answer(record(take()), ACCEPTED)
    return attempt_of()


def cut_once() -> Attempt:
    """One delivery due again after an attempt that the provider may have; that attempt."""
    store(overdue=5)
    answer(record(take()), CUT)
    age(1)
    return attempt_of()


# What was accepted.


@pytest.mark.parametrize(
    ("verdict", "ending"),
    [
        ("delivered", (S.DELIVERED, "ok", "accepted")),
        ("failed", (S.FAILED, "mailbox_full", "accepted")),
        ("progress", (S.ACCEPTED, "ok", "accepted")),
    ],
)
def test_a_receipt_ends_what_was_accepted(verdict: str, ending: tuple[S, str, str]) -> None:
    attempt = accept()
    assert hear(attempt, verdict) is (R.STORED if verdict == "progress" else R.MOVED)
    row = the_row()
    assert (row.state, row.reason, row.outcome) == ending
    attempt.refresh_from_db()
    assert (attempt.receipt, attempt.receipt_at is not None) == (verdict, True)
    assert (attempt.outcome, attempt.late_outcome) == ("accepted", "")


def test_a_receipt_long_after_the_intent_closed_still_counts() -> None:
    attempt = accept()
    assert ResetIntent.objects.get().state == "closed"
    age(86_400)
    before = the_row().finished_at
    assert hear(attempt, "failed") is R.MOVED
    row = the_row()
    # Our own work ended when it was accepted.
    assert (row.state, row.finished_at) == (S.FAILED, before)


@pytest.mark.parametrize("order", list(itertools.product(["progress", "failed", "delivered"], repeat=3)))
def test_the_last_word_by_rank_is_kept_whatever_the_order(order: tuple[str, ...]) -> None:
    attempt = accept()
    for verdict in order:
        hear(attempt, verdict)
    attempt.refresh_from_db()
    rank = ["progress", "failed", "delivered"].index
    assert attempt.receipt == max(order, key=rank)
    told = [verdict for verdict in order if verdict != "progress"]
    # The first word that ends it ends it: a final state stays.
    assert the_row().state == (told[0] if told else S.ACCEPTED)


@pytest.mark.parametrize("verdict", list(V))
def test_the_same_receipt_again_changes_nothing(verdict: V) -> None:
    attempt = accept()
    hear(attempt, verdict)
    before = (list(Attempt.objects.values()), list(Delivery.objects.values()))
    assert hear(attempt, verdict) is R.STALE
    assert (list(Attempt.objects.values()), list(Delivery.objects.values())) == before


@pytest.mark.parametrize("reference", [None, uuid.UUID(int=1)])
def test_a_receipt_of_nothing_we_know_is_no_error(reference: uuid.UUID | None) -> None:
    accept()
    receipt = Receipt(attempt_reference=reference, verdict=V.DELIVERED)
    assert record_receipt(receipt) is R.UNKNOWN
    assert the_row().state == S.ACCEPTED


# Before the submission settles.


@pytest.mark.parametrize("outcome", [ACCEPTED, CUT, BUSY, REFUSED, LOCKED_OUT])
def test_what_arrived_before_its_submission_settled_is_delivered_then(outcome: Any) -> None:
    store(overdue=5)
    marked = record(take())
    assert hear(attempt_of(), "delivered") is R.STORED
    assert the_row().state == S.SUBMITTING
    answer(marked, outcome)
    row = the_row()
    assert (row.state, row.outcome, row.reason) == (S.DELIVERED, "accepted", "ok")
    assert (attempt_of().outcome, ResetIntent.objects.get().state) == (outcome.kind, "closed")


@pytest.mark.parametrize(
    ("outcome", "state"), [(ACCEPTED, S.FAILED), (CUT, S.PENDING), (BUSY, S.PENDING), (REFUSED, S.FAILED)]
)
def test_a_failure_told_early_ends_only_what_was_accepted(outcome: Any, state: S) -> None:
    store(overdue=5)
    marked = record(take())
    hear(attempt_of(), "failed")
    answer(marked, outcome)
    assert the_row().state == state


def test_early_or_late_a_receipt_leads_to_the_same_state() -> None:
    endings = {}
    for told_early, verdict, outcome in itertools.product(
        [True, False], ["delivered", "failed"], [ACCEPTED, CUT]
    ):
        (row,) = store(overdue=5)
        marked = record(take(ids=[row.pk]))
        attempt = Attempt.objects.get(delivery=row)
        if told_early:
            hear(attempt, verdict)
        answer(marked, outcome)
        if not told_early:
            hear(attempt, verdict)
        row.refresh_from_db()
        endings[told_early, verdict, outcome.kind] = row.state
        Delivery.objects.filter(state=S.PENDING).delete()
    early, late = ({k[1:]: v for k, v in endings.items() if k[0] is side} for side in (True, False))
    assert early == late


@pytest.mark.parametrize(("verdict", "state"), [("delivered", S.DELIVERED), ("failed", S.PENDING)])
def test_the_sweep_applies_what_came_before_it(verdict: str, state: S) -> None:
    store(overdue=5)
    record(take())
    hear(attempt_of(), verdict)
    age(21)
    sweep()
    attempt = attempt_of()
    assert the_row().state == state
    assert (attempt.outcome, attempt.receipt) == ("ambiguous", verdict)


def test_a_worker_that_comes_back_after_the_sweep_writes_its_late_outcome() -> None:
    store(overdue=5)
    marked = record(take())
    hear(attempt_of(), "delivered")
    age(21)
    sweep()
    (settled,) = answer(marked, BUSY)
    attempt = attempt_of()
    assert settled.fenced_out
    assert (attempt.outcome, attempt.late_outcome, the_row().state) == ("ambiguous", "transient", S.DELIVERED)


# For an older attempt.


def test_what_arrived_is_not_sent_again_while_it_waits_for_its_retry() -> None:
    attempt = cut_once()
    assert hear(attempt, "delivered") is R.MOVED
    row = the_row()
    assert (row.state, row.outcome, ResetIntent.objects.get().state) == (S.DELIVERED, "accepted", "closed")
    assert take() == []


def test_what_arrived_is_not_sent_again_by_a_worker_that_holds_it() -> None:
    attempt = cut_once()
    held = take()
    assert hear(attempt, "delivered") is R.MOVED
    assert record(held) == []
    assert release(held, using="default") == set()
    row = the_row()
    assert (row.state, row.lease_owner, row.attempts) == (S.DELIVERED, "", 1)


@pytest.mark.parametrize("outcome", [ACCEPTED, BUSY, REFUSED])
def test_the_older_attempt_arriving_while_the_newer_one_runs_is_what_counts(outcome: Any) -> None:
    older = cut_once()
    marked = record(take())
    assert hear(older, "delivered") is R.STORED
    answer(marked, outcome)
    assert (the_row().state, attempt_of(number=2).outcome) == (S.DELIVERED, outcome.kind)


def test_the_older_attempt_arriving_after_the_newer_one_was_accepted_counts() -> None:
    older = cut_once()
    answer(record(take()), ACCEPTED)
    assert hear(older, "delivered") is R.MOVED
    assert the_row().state == S.DELIVERED


def test_the_older_attempt_failing_says_nothing_about_the_newer_one() -> None:
    older = cut_once()
    assert hear(older, "failed") is R.STORED
    marked = record(take())
    answer(marked, ACCEPTED)
    assert the_row().state == S.ACCEPTED
    assert hear(attempt_of(number=2), "failed") is R.MOVED
    assert the_row().state == S.FAILED


def test_the_older_attempt_failing_after_the_newer_one_was_accepted_is_only_kept() -> None:
    older = cut_once()
    answer(record(take()), ACCEPTED)
    assert hear(older, "failed") is R.STORED
    assert the_row().state == S.ACCEPTED


# After the end.


@pytest.mark.parametrize("state", sorted(FINISHED_STATES - {S.ACCEPTED}))
@pytest.mark.parametrize("verdict", list(V))
def test_on_a_final_row_a_receipt_changes_only_its_attempt(state: S, verdict: V) -> None:
    attempt = accept()
    Delivery.objects.update(state=state)
    before = list(Delivery.objects.values())
    assert hear(attempt, verdict) is R.STORED
    assert list(Delivery.objects.values()) == before
    attempt.refresh_from_db()
    assert attempt.receipt == verdict


# What is told of it.


@pytest.mark.parametrize(
    ("verdict", "lines"),
    [
        ("delivered", ["receipt for attempt 1: delivered", "delivered"]),
        ("failed", ["receipt for attempt 1: failed: mailbox full", "failed: mailbox full"]),
        ("progress", ["receipt for attempt 1: on its way"]),
    ],
)
def test_a_receipt_is_told_in_plain_words_and_before_what_it_led_to(verdict: str, lines: list[str]) -> None:
    attempt = accept()
    age(60)
    hear(attempt, verdict)
    told = [event.text for event in explain(ResetIntent.objects.get().reference).events]
    assert told[-len(lines) :] == lines


def test_a_receipt_after_the_end_does_not_move_the_end() -> None:
    attempt = accept()
    Delivery.objects.update(state=S.EXPIRED, reason="")
    age(60)
    hear(attempt, "delivered")
    told = [event.text for event in explain(ResetIntent.objects.get().reference).events]
    assert told[-2:] == ["closed: nothing more can happen", "receipt for attempt 1: delivered"]
    assert told.index("expired") == len(told) - 3


@pytest.mark.parametrize("make", [accept, cut_once])
def test_a_stored_receipt_takes_few_statements(
    make: Callable[[], Attempt], django_assert_max_num_queries: Any
) -> None:
    attempt = make()
    with django_assert_max_num_queries(8):
        hear(attempt, "delivered")


def test_a_refusal_that_a_receipt_repeats_was_never_accepted() -> None:
    store(overdue=5)
    answer(record(take()), REFUSED)
    age(60)
    hear(attempt_of(), "failed")
    told = [event.text for event in explain(ResetIntent.objects.get().reference).events]
    assert "failed: recipient refused" in told
    assert "accepted" not in told


def test_the_admin_shows_receipts_beside_their_attempts() -> None:
    hear(accept(), "failed")
    shown = pages()
    assert "failed (mailbox_full)" in shown
    assert "receipt for attempt 1: failed: mailbox full" in shown
