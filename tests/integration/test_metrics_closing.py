"""Minutes that close while a scrape reads: none is missing, and none is counted twice."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, connections, transaction

from resetdelivery.clock import database_now
from resetdelivery.models import EventMinute, OutcomeMinute, RollupState
from resetdelivery.telemetry import ledger, watermark
from resetdelivery.telemetry import metric_names as names
from resetdelivery.telemetry.metrics.samples import samples
from resetdelivery.telemetry.metrics.scrape import scrape

pytestmark = pytest.mark.django_db(transaction=True)

MINUTE = dt.timedelta(minutes=1)
MINUTES = 40
Sums = tuple[float, float, float]


@pytest.fixture(autouse=True)
def _minutes(db: None) -> None:
    """One attempt and one admission in each of the last minutes, and nothing closed yet."""
    start = database_now(connection).replace(second=0, microsecond=0) - MINUTES * MINUTE
    RollupState.objects.update_or_create(id=1, defaults={"closed_before": start})
    starts = [start + number * MINUTE for number in range(MINUTES)]
    attempt = {"channel": "email", "outcome": "accepted", "template_version": "1", "attempts": 1}
    counts = {"duration_counts": [1, *[0] * 9], "duration_seconds": 0.5}
    OutcomeMinute.objects.bulk_create(OutcomeMinute(minute=at, **attempt, **counts) for at in starts)
    admission = {"channel": "email", "event": "admitted", "label": "pipeline", "count": 1}
    EventMinute.objects.bulk_create(EventMinute(minute=at, **admission) for at in starts)


def close_next() -> None:
    """Close one minute as the rollup does."""
    with transaction.atomic():
        start = watermark.hold(connection)
        assert start is not None
        ledger.fold(connection, (start, start + MINUTE))
        watermark.move_to(connection, start + MINUTE)


def elsewhere(step: Callable[[], Any]) -> Any:
    """Run a step with connections of its own."""
    try:
        return step()
    finally:
        connections.close_all()


def read() -> Sums:
    found = samples(scrape())
    duration: Any = found[names.DURATION]["email",]
    attempts: Any = found[names.ATTEMPTS]["email", "accepted", "1"]
    admitted: Any = found[names.ADMITTED]["email", "pipeline"]
    return attempts, admitted, duration.total * 2


def closed() -> int:
    return EventMinute.objects.filter(minute__lt=RollupState.objects.get().closed_before).count()


def test_a_minute_that_closes_before_each_statement_is_counted_once() -> None:
    with ThreadPoolExecutor(1) as pool:

        def closing(execute: Callable[..., Any], *statement: Any) -> Any:
            pool.submit(elsewhere, close_next).result(30)
            return execute(*statement)

        with connection.execute_wrapper(closing):
            found = read()
    assert closed() >= 3
    assert found == (MINUTES, MINUTES, MINUTES)


def test_scrapes_beside_a_rollup_all_read_the_same() -> None:
    def close_all() -> list[Sums]:
        for _ in range(MINUTES):
            close_next()
        return []

    def keep_reading() -> list[Sums]:
        return [read() for _ in range(25)]

    with ThreadPoolExecutor(3) as pool:
        running = [pool.submit(elsewhere, step) for step in (close_all, keep_reading, keep_reading)]
        found = [sums for one in running for sums in one.result(60)]
    assert closed() == MINUTES
    assert len(found) == 50
    assert set(found) == {(MINUTES, MINUTES, MINUTES)}
