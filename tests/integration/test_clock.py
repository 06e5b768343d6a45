from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from django.db import connection

from resetdelivery.clock import after_sql, as_datetime, database_now, now_sql, seconds_between_sql
from resetdelivery.domain.telemetry import QUEUE_DELAY_SECONDS
from tests.steps import seconds

pytestmark = pytest.mark.django_db


def selected(sql: str, params: list[Any]) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {sql}", params)
        return cursor.fetchone()[0]


@pytest.mark.parametrize("sql", ["now", "after"])
def test_the_clock_writes_a_moment_just_as_django_stores_it(sql: str) -> None:
    # Else, on SQLite, a row stored as due now would not be due before the next millisecond.
    raw = selected(now_sql(connection), []) if sql == "now" else selected(after_sql(connection), [0.5])
    stored = connection.ops.adapt_datetimefield_value(as_datetime(raw).replace(microsecond=1000))
    assert len(str(raw)) == len(str(stored)) or connection.vendor == "postgresql"


def test_a_moment_is_due_at_itself() -> None:
    now = connection.ops.adapt_datetimefield_value(database_now(connection))
    assert selected(f"%s <= {now_sql(connection)}", [now])


@pytest.mark.parametrize("seconds", [-3600.5, 0, 0.25, 86_400])
def test_a_moment_some_seconds_away_is_that_far_away(seconds: float) -> None:
    between = seconds_between_sql(connection, earlier=now_sql(connection), later=after_sql(connection))
    assert float(selected(between, [seconds])) == pytest.approx(seconds, abs=0.05)


@pytest.mark.parametrize(
    "value",
    [
        "2026-11-29 15:00:00",
        "2026-11-29 15:00:00.000000",
        dt.datetime(2026, 11, 29, 15),  # noqa: DTZ001  # as a raw cursor may return it
        dt.datetime(2026, 11, 29, 16, tzinfo=dt.timezone(dt.timedelta(hours=1))),
    ],
)
def test_a_raw_moment_is_read_as_utc(value: dt.datetime | str) -> None:
    assert as_datetime(value) == dt.datetime(2026, 11, 29, 15, tzinfo=dt.UTC)


@pytest.mark.parametrize("bound", QUEUE_DELAY_SECONDS)
@pytest.mark.parametrize("hour", range(0, 24, 5))
def test_a_wait_of_just_a_buckets_bound_is_not_longer_than_that(bound: float, hour: int) -> None:
    began = dt.datetime(2026, 11, 29, hour, 59, 59, 901000, tzinfo=dt.UTC)
    moment = "CAST(%s AS timestamptz)" if connection.vendor == "postgresql" else "%s"
    stored = [connection.ops.adapt_datetimefield_value(at) for at in (began + seconds(bound), began)]
    waited = seconds_between_sql(connection, earlier=moment, later=moment)
    assert selected(f"{waited} <= {bound}", stored)
