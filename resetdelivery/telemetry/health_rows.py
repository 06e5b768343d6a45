"""The rows behind delivery's health: two statements, each over an index and with a bounded answer."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper

from notifications.outcome import OutcomeKind
from resetdelivery.claims.sql import CONTROL, DELIVERY, marks
from resetdelivery.clock import now_sql, seconds_between_sql
from resetdelivery.domain.telemetry import QUEUE_DELAY_SECONDS, REMAINING_RATIO, CountedEvent, Job
from resetdelivery.models import EventMinute, JobRun, OutcomeMinute
from resetdelivery.telemetry.watermark import STATE

_EVENTS = EventMinute._meta.db_table
_OUTCOMES = OutcomeMinute._meta.db_table
_JOBS = JobRun._meta.db_table

_EVENTS_TOLD = (
    *(CountedEvent.ADMITTED, CountedEvent.FINISHED),
    *(CountedEvent.EXPIRED_USEFULLY, CountedEvent.LEASE_RECOVERED),
)
#: One number of a stored list; a row that has none adds nothing.
_NUMBER = {
    "postgresql": "CAST({column} ->> {index} AS bigint)",
    "sqlite": "json_extract({column}, '$[{index}]')",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Current:
    """What is open, how channels are set, when jobs succeeded, and what was counted since a minute.

    ``open`` by channel and state; ``due_seconds`` by channel, where something of ours is due, and
    ``shadow_seconds`` where something that another sender sends is; ``modes`` and
    ``pauses`` (reasons, with whether it is paused at this moment) by channel; ``job_seconds`` by job;
    ``events`` by channel and event; ``open_seconds`` since the start of the first minute that is not
    closed, ``None`` if no minute ever was.
    """

    open: dict[tuple[str, str], int]
    due_seconds: dict[str, float]
    shadow_seconds: dict[str, float]
    modes: dict[str, str]
    pauses: dict[str, tuple[str, bool]]
    job_seconds: dict[str, float]
    events: dict[tuple[str, str], int]
    open_seconds: float | None

    def job_age(self, job: Job) -> float | None:
        """Seconds since ``job`` last succeeded; ``None`` if it never did."""
        return self.job_seconds.get(job.value)


class _Row(NamedTuple):
    """A row of any part; what its ``label`` and ``number`` are depends on its kind."""

    kind: str
    name: str
    label: str
    number: int
    seconds: float | None


def read_current(connection: BaseDatabaseWrapper, since: dt.datetime) -> Current:
    """What there is now, and what was counted in ``since`` and the minutes after it."""
    now = now_sql(connection)
    due = seconds_between_sql(connection, earlier="MIN(due_at)", later=now)
    succeeded = seconds_between_sql(connection, earlier="succeeded_at", later=now)
    since_closed = seconds_between_sql(connection, earlier="closed_before", later=now)
    # The states stand in the text: only so are the partial indexes used.
    parts = [
        f"SELECT CASE WHEN authority = 'pipeline' THEN 'ours' ELSE 'theirs' END, channel, state, COUNT(*), "
        f"{due} FROM {DELIVERY} WHERE state IN ({states}) GROUP BY 1, 2, 3"
        for states in ("'pending', 'waiting'", "'leased', 'submitting'")
    ]
    parts += [
        f"SELECT 'mode', channel, mode, 0, NULL FROM {CONTROL}",
        "SELECT 'pause', channel, pause_reason, CASE WHEN paused THEN 1 ELSE 0 END, NULL "
        f"FROM {CONTROL} WHERE paused OR probing",
        f"SELECT 'job', name, '', 0, {succeeded} FROM {_JOBS}",
        f"SELECT 'closed', '', '', 0, {since_closed} FROM {STATE} WHERE closed_before IS NOT NULL",
        f"SELECT 'event', channel, event, CAST(SUM(count) AS bigint), NULL FROM {_EVENTS} "
        f"WHERE minute >= %s AND event IN ({marks(_EVENTS_TOLD)}) "
        "AND NOT (event = 'admitted' AND label = 'shadow') GROUP BY channel, event",
    ]
    return _current([_Row(*row) for row in _rows(connection, " UNION ALL ".join(parts), since, _EVENTS_TOLD)])


def _current(rows: list[_Row]) -> Current:
    def of(kind: str) -> list[_Row]:
        return [row for row in rows if row.kind == kind]

    ours, theirs = of("ours"), of("theirs")
    open_rows = Counter[tuple[str, str]]()
    for row in (*ours, *theirs):
        open_rows[row.name, row.label] += row.number
    return Current(
        open=dict(open_rows),
        due_seconds=_due(ours),
        shadow_seconds=_due(theirs),
        modes={row.name: row.label for row in of("mode")},
        pauses={row.name: (row.label, bool(row.number)) for row in of("pause")},
        job_seconds={row.name: float(row.seconds) for row in of("job") if row.seconds is not None},
        events={(row.name, row.label): row.number for row in of("event")},
        open_seconds=next((float(row.seconds) for row in of("closed") if row.seconds is not None), None),
    )


def _due(rows: Sequence[_Row]) -> dict[str, float]:
    """By channel for how long the first that is pending has been due; it may not be due yet."""
    pending = [row for row in rows if row.label == "pending"]
    return {row.name: float(row.seconds) for row in pending if row.seconds and row.seconds >= 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """Attempts that ended with one outcome: how many, and the counts of two of their histograms."""

    attempts: int
    queue_delay: Sequence[int]
    remaining: Sequence[int]


def read_ended(connection: BaseDatabaseWrapper, since: dt.datetime) -> dict[tuple[str, OutcomeKind], Ended]:
    """By channel and outcome the attempts that started in ``since`` and the minutes after it."""
    delays = _sums(connection, "queue_delay_counts", len(QUEUE_DELAY_SECONDS) + 1)
    remaining = _sums(connection, "remaining_counts", len(REMAINING_RATIO) + 1)
    sql = (
        f"SELECT channel, outcome, CAST(SUM(attempts) AS bigint), {', '.join([*delays, *remaining])} "
        f"FROM {_OUTCOMES} WHERE minute >= %s GROUP BY channel, outcome"
    )
    return {
        (channel, OutcomeKind(outcome)): Ended(
            attempts=attempts, queue_delay=counts[: len(delays)], remaining=counts[len(delays) :]
        )
        for channel, outcome, attempts, *counts in _rows(connection, sql, since)
    }


def _sums(connection: BaseDatabaseWrapper, column: str, length: int) -> list[str]:
    number = _NUMBER[connection.vendor]
    return [
        f"CAST(COALESCE(SUM({number.format(column=column, index=index)}), 0) AS bigint)"
        for index in range(length)
    ]


def _rows(
    connection: BaseDatabaseWrapper, sql: str, since: dt.datetime, more: Sequence[str] = ()
) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, [connection.ops.adapt_datetimefield_value(since), *more])
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows
