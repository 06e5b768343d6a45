"""However much is stored, the rollup reads only the minutes that it counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from resetdelivery.clock import database_now
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import Attempt, Delivery, ResetIntent
from resetdelivery.telemetry import rollup, tallies
from resetdelivery.telemetry.minutes import MINUTE, minute_of
from tests.moved_clock import moved_clock
from tests.steps import seconds, store

#: Committed rows: what ``ANALYZE`` learns of rows that are rolled back would outlast the test.
pytestmark = pytest.mark.django_db(transaction=True)

__all__ = ["moved_clock"]

EXPLAIN = {"postgresql": "EXPLAIN ", "sqlite": "EXPLAIN QUERY PLAN "}
ROWS = 3000
TABLES = (Attempt._meta.db_table, Delivery._meta.db_table, ResetIntent._meta.db_table)
INDEXES = (
    "resetdelivery_attempt_started",
    "resetdelivery_attempt_told",
    "resetdelivery_attempt_late",
    "resetdelivery_delivery_ended",
    "resetdelivery_intent_created",
)


@pytest.fixture(autouse=True)
def _many_rows() -> None:
    """One attempt in each of the last minutes, each with all that can be told of it."""
    now = database_now(connection)
    deliveries = store(ROWS)
    for number, delivery in enumerate(deliveries):
        delivery.intent.created_at = delivery.finished_at = now - number * MINUTE
        delivery.state = DeliveryState.ACCEPTED
    ResetIntent.objects.bulk_update([row.intent for row in deliveries], ["created_at"], batch_size=500)
    Delivery.objects.bulk_update(deliveries, ["finished_at", "state"], batch_size=500)
    Attempt.objects.bulk_create(_attempt(delivery) for delivery in deliveries)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def _attempt(delivery: Delivery) -> Attempt:
    at = delivery.finished_at
    assert at is not None
    return Attempt(
        delivery=delivery,
        number=1,
        token=1,
        started_at=at,
        finished_at=at,
        outcome="ambiguous",
        late_outcome="accepted",
        late_at=at,
        receipt="delivered",
        receipt_at=at,
        queue_delay_seconds=1,
        remaining_seconds=1,
        transport="smtp",
        worker="worker:1",
    )


def plans(step: Callable[[], object]) -> str:
    """How the database runs what ``step`` reads."""
    with CaptureQueriesContext(connection) as captured:
        step()
    return "\n".join(_explained([query["sql"] for query in captured.captured_queries]))


def _explained(statements: list[str]) -> Iterator[str]:
    with connection.cursor() as cursor:
        for sql in statements:
            if sql.lstrip().startswith("SELECT"):
                cursor.execute(EXPLAIN[connection.vendor] + sql)
                yield from (str(row[-1]) for row in cursor.fetchall())


def whole(found: str) -> list[str]:
    """The tables that are read from end to end."""
    lines = [line.split() for line in found.splitlines()]
    return [
        " ".join(words)
        for words in lines
        if ("Seq" in words and any(table in words for table in TABLES))
        or (words[0] == "SCAN" and words[1] in {"a", "d", "i", *TABLES} and "INDEX" not in words)
    ]


def a_minute() -> tallies.Which:
    start = minute_of(database_now(connection) - seconds(ROWS * 30))
    return tallies.between(start, start + MINUTE)


def test_a_minute_is_counted_by_its_indexes() -> None:
    def count() -> Any:
        which = a_minute()
        return tallies.outcomes(connection, which), tallies.events(connection, which)

    outcomes, events = count()
    assert len(outcomes) == 1
    assert len(events) == 4
    found = plans(count)
    assert [index for index in INDEXES if index not in found] == []
    assert whole(found) == []


def test_a_whole_scan_would_be_seen() -> None:
    read_all = Attempt.objects.filter(worker="worker:1").count
    assert len(whole(plans(read_all))) == 1


def test_a_pass_reads_no_table_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    # A minute at a time: of a table as small as this, a few hundred rows are better read whole.
    monkeypatch.setattr(rollup, "CHUNK_ROWS", 1)
    monkeypatch.setattr(rollup, "CHUNKS", 2)
    rollup.roll_up()
    assert whole(plans(rollup.roll_up)) == []
