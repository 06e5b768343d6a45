"""What is counted as it happens, and rows that go before their minute is closed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction

from notifications.channels import Channel
from resetdelivery.clock import database_now
from resetdelivery.domain.telemetry import CountedEvent
from resetdelivery.models import Attempt, Delivery, EventMinute, OutcomeMinute, ResetIntent
from resetdelivery.recovery import sweep, wake_due
from resetdelivery.telemetry.counts import count, count_all, keep
from resetdelivery.telemetry.rollup import roll_up
from tests.brokers import Queue
from tests.later_words import ask_in_turn, hear
from tests.moved_clock import moved_clock
from tests.rolled import counts, displayed, pass_minutes, truth
from tests.steps import ACCEPTED, BUSY, REFUSED, answer, record, seconds, store, take

pytestmark = pytest.mark.django_db

__all__ = ["moved_clock"]

E = CountedEvent
EMAIL, SMS = Channel.EMAIL, Channel.SMS


def test_a_count_is_added_to_the_current_minute() -> None:
    before = database_now(connection)
    count(connection, E.LATER_HINT, EMAIL, "failed", 2)
    count(connection, E.LATER_HINT, EMAIL, "failed")
    after = database_now(connection)
    rows = EventMinute.objects.all()
    assert {row.minute for row in rows} <= {at.replace(second=0, microsecond=0) for at in (before, after)}
    assert {row.kept for row in rows} == {True}
    assert counts(displayed()) == {("later_hint", "email", "failed"): 3}


def test_counts_of_different_things_stand_side_by_side() -> None:
    count_all(connection, {(E.LATER_HINT, EMAIL, "failed"): 1, (E.LEASE_RECOVERED, SMS, "leased"): 4})
    assert counts(displayed()) == {
        ("later_hint", "email", "failed"): 1,
        ("lease_recovered", "sms", "leased"): 4,
    }


@pytest.mark.parametrize("numbers", [{}, {(E.LATER_HINT, EMAIL, "failed"): 0}])
def test_nothing_to_count_is_no_statement(numbers: Any, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        count_all(connection, numbers)


def test_a_count_goes_back_with_its_transaction() -> None:
    with transaction.atomic():
        count(connection, E.LATER_HINT, EMAIL, "failed")
        transaction.set_rollback(True)
    assert not EventMinute.objects.exists()


def test_what_was_counted_as_it_happened_outlasts_counting_anew() -> None:
    count(connection, E.LATER_HINT, EMAIL, "failed")
    store()
    roll_up()
    roll_up()
    assert counts(displayed())["later_hint", "email", "failed"] == 1
    pass_minutes(30)
    roll_up()
    pass_minutes(30)
    roll_up()
    assert counts(displayed())["later_hint", "email", "failed"] == 1


@pytest.mark.parametrize("state", ["leased", "submitting"])
def test_a_recovered_lease_is_counted_with_the_state_that_it_was_in(state: str) -> None:
    store(2)
    taken = take(lease=0 if state == "leased" else 30)
    if state == "submitting":
        record(taken, budget=0, margin=0)
    sweep()
    sweep()
    assert counts(displayed()) == {("lease_recovered", "email", state): 2}


def test_a_lease_that_came_back_by_itself_is_not_recovered() -> None:
    store()
    answer(record(take()))
    sweep()
    assert not EventMinute.objects.exists()


def test_hints_of_the_sweep_are_counted_row_by_row_as_they_went(queue: Queue) -> None:
    store(120, overdue=120)
    sweep()
    assert counts(displayed()) == {("later_hint", "email", "published"): 120}


def test_hints_that_did_not_get_through_are_counted_as_failed(queue: Queue) -> None:
    queue.takes_messages = False
    store(3, overdue=120)
    sweep()
    assert counts(displayed()) == {("later_hint", "email", "failed"): 3}


def test_hints_at_retries_are_counted(queue: Queue) -> None:
    store(2)
    answer(record(take()), BUSY)
    Delivery.objects.update(due_at=database_now(connection) - seconds(1))
    wake_due()
    wake_due()
    assert counts(displayed()) == {("later_hint", "email", "published"): 2}


@pytest.mark.parametrize(
    ("broker", "label"),
    [({}, "published"), ({"length": 10_000}, "suppressed"), ({"takes_messages": False}, "failed")],
)
def test_a_hint_at_a_fallback_that_was_armed_is_counted(
    queue: Queue, account: Any, django_capture_on_commit_callbacks: Any, broker: dict[str, Any], label: str
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        ask_in_turn(account)
    for name, value in broker.items():
        setattr(queue, name, value)
    with django_capture_on_commit_callbacks(execute=True):
        answer(record(take(fill_after=0)), REFUSED)
    assert counts(displayed()) == {("later_hint", "sms", label): 1}


def gone(rows: list[Delivery]) -> None:
    """Delete them with their intents, as an erasure does."""
    with transaction.atomic():
        keep(connection, [row.pk for row in rows])
        ResetIntent.objects.filter(deliveries__in=rows).delete()


@pytest.mark.parametrize("counted_before", [True, False])
def test_rows_that_go_before_their_minute_is_closed_stay_counted(counted_before: bool) -> None:
    rows = store(3)
    answer(record(take()))
    if counted_before:
        roll_up()
    expected, before = counts(truth()), displayed()
    gone(rows[:2])
    assert displayed() == before
    roll_up()
    assert counts(displayed()) == expected
    pass_minutes(30)
    roll_up()
    assert counts(displayed()) == expected


def test_all_measures_of_attempts_that_go_are_kept() -> None:
    rows = store(2, overdue=3)
    answer(record(take()))
    roll_up()
    before = displayed()
    gone(rows)
    roll_up()
    assert displayed() == before


def test_rows_that_go_twice_over_are_added_up() -> None:
    rows = store(3)
    answer(record(take()))
    expected = counts(truth())
    for row in rows:
        gone([row])
    roll_up()
    assert counts(displayed()) == expected


def test_of_rows_whose_minutes_are_closed_nothing_is_kept() -> None:
    rows = store()
    answer(record(take()))
    pass_minutes(30)
    roll_up()
    before = displayed()
    gone(rows)
    assert displayed() == before
    assert not OutcomeMinute.objects.filter(kept=True).exists()


def test_also_counts_of_closed_minutes_are_kept_if_that_is_asked_for() -> None:
    rows = store()
    answer(record(take()))
    pass_minutes(30)
    roll_up()
    before = displayed()
    with transaction.atomic():
        keep(connection, [row.pk for row in rows], closed_too=True)
    assert displayed() == before
    assert {row.kept: row.attempts for row in OutcomeMinute.objects.all()} == {False: 0, True: 1}
    admitted = EventMinute.objects.filter(event="admitted")
    assert {row.kept: row.count for row in admitted} == {False: 0, True: 1}


def test_keeping_nothing_is_no_statement(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        keep(connection, [])


def receipts() -> dict[tuple[Any, ...], int]:
    return {key: number for key, number in counts(displayed()).items() if key[0] == "receipt"}


@pytest.fixture
def attempt() -> Attempt:
    store()
    answer(record(take()), ACCEPTED)
    return Attempt.objects.get()


@pytest.mark.parametrize("between", [lambda: None, roll_up], ids=["uncounted", "counted"])
def test_a_word_that_a_weightier_one_replaces_was_said_all_the_same(
    attempt: Attempt, between: Callable[[], object]
) -> None:
    hear(attempt, "progress")
    between()
    hear(attempt, "failed")
    between()
    hear(attempt, "delivered")
    roll_up()
    one_each = {("receipt", "email", verdict): 1 for verdict in ("progress", "failed", "delivered")}
    assert receipts() == one_each
    pass_minutes(30)
    roll_up()
    assert receipts() == one_each


def test_a_word_that_replaces_one_of_a_closed_minute_is_counted_beside_it(attempt: Attempt) -> None:
    hear(attempt, "progress")
    pass_minutes(30)
    roll_up()
    hear(attempt, "delivered")
    roll_up()
    assert receipts() == {("receipt", "email", "progress"): 1, ("receipt", "email", "delivered"): 1}


def test_a_word_that_is_too_light_is_not_counted(attempt: Attempt) -> None:
    hear(attempt, "delivered")
    hear(attempt, "failed")
    hear(attempt, "progress")
    hear(attempt, "delivered")
    roll_up()
    assert receipts() == {("receipt", "email", "delivered"): 1}
