"""The rollup beside itself, and beside everything that changes what it counts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from django.db import connection, transaction

from resetdelivery import dispatch
from resetdelivery.clock import database_now
from resetdelivery.domain.telemetry import FirstHint
from resetdelivery.models import (
    Attempt,
    Delivery,
    EventMinute,
    OutcomeMinute,
    OutcomeTotal,
    ResetIntent,
    RollupState,
)
from resetdelivery.recovery import sweep
from resetdelivery.telemetry import rollup
from resetdelivery.telemetry.counts import keep
from resetdelivery.telemetry.rollup import RolledUp, roll_up
from tests.interleavings.racing import behind, holding, together
from tests.later_words import hear
from tests.rolled import counts, displayed, pass_minutes, truth
from tests.steps import answer, record, seconds, store, take

STATE = RollupState._meta.db_table
LOCK = {
    "turn": f"SELECT 1 FROM {STATE} WHERE id = 1 FOR NO KEY UPDATE",
    "hold": f"SELECT 1 FROM {STATE} WHERE id = 1 FOR UPDATE",
    "share": f"SELECT 1 FROM {STATE} WHERE id = 1 FOR KEY SHARE",
}


@pytest.fixture(autouse=True)
def _state() -> None:
    RollupState.objects.get_or_create(id=1)


def send(number: int = 1) -> list[Attempt]:
    answer(record(take(ids=[row.pk for row in store(number)])))
    return list(Attempt.objects.order_by("-pk")[:number])


def old_attempts(minutes: int = 6) -> None:
    """Attempts in several minutes that are over."""
    for _ in range(minutes):
        send(2)
        pass_minutes(3)
    pass_minutes(30)


def test_two_passes_at_once_close_each_minute_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollup, "CHUNK_ROWS", 1)
    monkeypatch.setattr(rollup, "CHUNKS", 100)
    old_attempts()
    together(*[roll_up] * 4)
    roll_up()
    assert counts(displayed()) == counts(truth())
    assert OutcomeTotal.objects.get().attempts == Attempt.objects.count()


def test_the_first_passes_of_all_at_once_agree_on_one_state() -> None:
    RollupState.objects.all().delete()
    old_attempts(2)
    RollupState.objects.all().delete()
    together(*[roll_up] * 4)
    roll_up()
    assert counts(displayed()) == counts(truth())


@pytest.mark.parametrize("held", ["turn", "hold"])
def test_a_pass_that_meets_another_lets_it_be(held: str) -> None:
    old_attempts(1)
    with holding() as cursor:
        cursor.execute(LOCK[held])
        assert roll_up() == RolledUp(busy=True)
    assert roll_up().closed == 1


def test_a_pass_waits_for_counts_that_are_being_moved() -> None:
    old_attempts(1)
    assert [one.closed for one in behind(LOCK["share"], [], roll_up)] == [1]


def gone(rows: list[Delivery]) -> None:
    with transaction.atomic():
        keep(connection, [row.pk for row in rows])
        ResetIntent.objects.filter(deliveries__in=rows).delete()


@pytest.mark.parametrize("minutes", [0, 30], ids=["open", "about_to_close"])
def test_rows_that_go_while_they_are_counted_are_counted_once(minutes: int) -> None:
    rows = store(4)
    answer(record(take()))
    pass_minutes(minutes)
    expected = counts(truth())
    together(roll_up, lambda: gone(rows[:2]), roll_up, lambda: gone(rows[2:]))
    roll_up()
    assert counts(displayed()) == expected
    pass_minutes(30)
    roll_up()
    assert counts(displayed()) == expected


def test_of_a_minute_that_is_closed_while_keeping_waits_nothing_is_kept() -> None:
    rows = store(2)
    answer(record(take()))
    behind(f"UPDATE {STATE} SET closed_before = clock_timestamp() WHERE id = 1", [], lambda: gone(rows))
    assert not OutcomeMinute.objects.filter(kept=True).exists()
    assert not EventMinute.objects.filter(kept=True).exists()


def told(attempts: list[Attempt]) -> list[Callable[[], object]]:
    verdicts = ("progress", "failed", "delivered")
    return [partial(hear, attempt, verdict) for attempt in attempts for verdict in verdicts]


def test_words_that_replace_each_other_while_they_are_counted_never_lower_a_count() -> None:
    attempts = send(2)
    roll_up()
    before = counts(displayed())
    together(*told(attempts), roll_up, roll_up)
    roll_up()
    now = counts(displayed())
    assert all(now[key] >= number for key, number in before.items())
    assert now["receipt", "email", "delivered"] == 2
    # Each was said at most once by each attempt, and what a row still says is counted.
    assert all(now["receipt", "email", verdict] <= 2 for verdict in ("progress", "failed"))
    pass_minutes(30)
    roll_up()
    assert counts(displayed()) == now


def test_an_attempt_that_settles_while_its_minute_could_close_is_counted() -> None:
    store(3)
    marked = record(take())
    pass_minutes(30)
    together(lambda: answer(marked), roll_up, roll_up)
    roll_up()
    assert counts(displayed()) == counts(truth())
    assert OutcomeTotal.objects.get().attempts == 3


def test_two_sweeps_at_once_count_each_recovered_lease_once() -> None:
    store(20)
    record(take())
    Delivery.objects.update(lease_expires_at=database_now(connection) - seconds(1))
    together(*[sweep] * 4)
    recovered = EventMinute.objects.filter(event="lease_recovered")
    assert sum(row.count for row in recovered) == 20


def test_a_row_that_somebody_holds_keeps_its_hint_and_nobody_waits() -> None:
    held, free = store(2, first_hint="published")
    with holding() as cursor:
        cursor.execute(f"SELECT 1 FROM {Delivery._meta.db_table} WHERE id = %s FOR UPDATE", [held.pk])
        dispatch.note_unhinted([held.pk, free.pk], using="default", first_hint=FirstHint.FAILED)
    hints = dict(Delivery.objects.values_list("pk", "first_hint"))
    assert hints == {held.pk: "published", free.pk: "failed"}
