"""Receipts against whoever moves the same delivery at that moment."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection

from notifications.channels import Channel
from resetdelivery.clock import database_now
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import Attempt, Delivery, ResetIntent
from resetdelivery.receipts import RecordedReceipt
from resetdelivery.recovery import sweep
from tests.interleavings.racing import behind, together
from tests.later_words import attempt_of, hear
from tests.steps import ACCEPTED, BUSY, CUT, answer, record, seconds, store, take

S = DeliveryState
R = RecordedReceipt
INTENT = f"SELECT 1 FROM {ResetIntent._meta.db_table} WHERE id = %s FOR UPDATE"

Step = Callable[[], Any]


def under_way() -> tuple[Delivery, list[Any]]:
    """One delivery whose submission runs, and what its worker holds."""
    (row,) = store(overdue=5)
    return row, record(take())


def let_leases_run_out() -> None:
    Delivery.objects.exclude(lease_expires_at=None).update(
        lease_expires_at=database_now(connection) - seconds(1)
    )


def both_ways(row: Delivery, one: Step, other: Step) -> list[Any]:
    """Both behind the intent's lock; which gets it first is PostgreSQL's own choice."""
    return behind(INTENT, [row.intent.pk], one, other)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("outcome", [ACCEPTED, CUT, BUSY])
def test_a_receipt_and_the_settling_of_its_attempt_end_in_delivered(outcome: Any, turned: bool) -> None:
    row, marked = under_way()
    steps: list[Step] = [partial(hear, attempt_of(), "delivered"), partial(answer, marked, outcome)]
    both_ways(row, *(reversed(steps) if turned else steps))
    row.refresh_from_db()
    assert (row.state, row.outcome) == (S.DELIVERED, "accepted")
    assert (attempt_of().outcome, attempt_of().receipt) == (outcome.kind, "delivered")
    assert ResetIntent.objects.get().state == "closed"


@pytest.mark.parametrize("turned", [False, True])
def test_a_bounce_and_the_settling_of_its_attempt_end_in_failed(turned: bool) -> None:
    row, marked = under_way()
    steps: list[Step] = [partial(hear, attempt_of(), "failed"), partial(answer, marked, ACCEPTED)]
    both_ways(row, *(reversed(steps) if turned else steps))
    row.refresh_from_db()
    assert (row.state, row.reason) == (S.FAILED, "mailbox_full")


@pytest.mark.parametrize("turned", [False, True])
def test_a_receipt_and_the_sweep_end_in_delivered(turned: bool) -> None:
    row, _ = under_way()
    let_leases_run_out()
    steps: list[Step] = [partial(hear, attempt_of(), "delivered"), sweep]
    both_ways(row, *(reversed(steps) if turned else steps))
    row.refresh_from_db()
    assert (row.state, attempt_of().outcome) == (S.DELIVERED, "ambiguous")
    assert take() == []


@pytest.mark.parametrize("order", list(itertools.permutations(["delivered", "delivered", "failed"])))
def test_of_receipts_that_come_at_once_delivered_is_kept(order: tuple[str, ...]) -> None:
    row, marked = under_way()
    answer(marked, ACCEPTED)
    said = behind(INTENT, [row.intent.pk], *[partial(hear, attempt_of(), verdict) for verdict in order])
    row.refresh_from_db()
    assert attempt_of().receipt == "delivered"
    # Whichever ended it, ended it once; one of the two equal ones came too late for anything.
    assert row.state in {S.DELIVERED, S.FAILED}
    assert said.count(R.MOVED) == 1
    assert R.STALE in said


@pytest.mark.parametrize("times", range(4))
def test_a_worker_that_marks_at_that_moment_sends_only_what_has_not_arrived(times: int) -> None:
    row, marked = under_way()
    answer(marked, CUT)
    Delivery.objects.update(due_at=database_now(connection))
    older, held = attempt_of(), take()
    heard, sent = both_ways(row, partial(hear, older, "delivered"), partial(record, held))
    row.refresh_from_db()
    assert (heard, len(sent), row.state) in {(R.MOVED, 0, S.DELIVERED), (R.STORED, 1, S.SUBMITTING)}
    answer(sent, ACCEPTED)
    row.refresh_from_db()
    assert row.state == S.DELIVERED


def test_receipts_for_many_rows_and_their_settling_never_block_each_other() -> None:
    rows = store(40, overdue=5)
    marked = record(take(limit=40))
    attempts = list(Attempt.objects.order_by("-pk"))

    def hear_all() -> None:
        for attempt in attempts:
            hear(attempt, "delivered")

    together(hear_all, partial(answer, marked, ACCEPTED), sweep)
    states = Delivery.objects.filter(channel=Channel.EMAIL).values_list("state", flat=True)
    assert [*states] == [S.DELIVERED] * len(rows)
