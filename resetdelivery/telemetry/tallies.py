"""What rows come to: counts of attempts and events by minute, in one statement each."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper

from resetdelivery.claims.sql import ATTEMPT, DELIVERY, INTENT, Row, flat, marks
from resetdelivery.clock import after_sql, as_datetime, seconds_between_sql
from resetdelivery.domain.tally import MEASURES, UNITS, Group, Sums, sums_of
from resetdelivery.domain.telemetry import DELAY_LABELS, QUEUE_DELAY_SECONDS, CountedEvent
from resetdelivery.telemetry.minutes import minute_sql

#: What became of a hint is known for good this long after its admission; until then it is not counted.
HINT_SETTLES_SECONDS = 30.0


class OutcomeKey(NamedTuple):
    """What attempts are counted by."""

    minute: dt.datetime
    channel: str
    outcome: str
    template_version: str


class EventKey(NamedTuple):
    """What events are counted by."""

    minute: dt.datetime
    event: str
    channel: str
    label: str


Outcomes = dict[OutcomeKey, Sums]
Events = dict[EventKey, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Which:
    """Which rows are counted: an SQL condition, in which ``{at}`` is the moment that they count for.

    Deliveries are called ``d`` in it, and attempts ``a``.
    """

    condition: str
    values: Row


def between(start: dt.datetime, end: dt.datetime) -> Which:
    """What happened from ``start`` until right before ``end``."""
    return Which(condition="{at} >= %s AND {at} < %s", values=(start, end))


def of_deliveries(ids: Sequence[int], *, since: dt.datetime | None) -> Which:
    """All of these deliveries, from ``since`` on."""
    return _since(Which(condition=f"d.id IN ({marks(ids)})", values=tuple(ids)), since)


def of_attempt(attempt: int) -> Which:
    """One attempt."""
    return Which(condition="a.id = %s", values=(attempt,))


def _since(which: Which, since: dt.datetime | None) -> Which:
    if since is None:
        return which
    return Which(condition=f"{which.condition} AND {{at}} >= %s", values=(*which.values, since))


_ATTEMPTS = f"{ATTEMPT} a JOIN {DELIVERY} d ON d.id = a.delivery_id"
# What an attempt measured. A late outcome brings its own duration, maybe after the minute was closed.
_MEASURED = """
    a.queue_delay_seconds AS m0,
    CASE WHEN a.late_outcome = '' THEN a.duration_seconds END AS m1,
    CAST({left} AS double precision) / NULLIF(CAST({life} AS double precision), 0) AS m2,
    a.lease_used AS m3
"""


def outcomes(connection: BaseDatabaseWrapper, which: Which) -> Outcomes:
    """Attempts that ended, by the minute in which they started."""
    numbers = range(len(MEASURES))
    started = "a.started_at"
    measured = _MEASURED.format(
        left=seconds_between_sql(connection, earlier="a.finished_at", later="d.expires_at"),
        life=seconds_between_sql(connection, earlier="i.created_at", later="d.expires_at"),
    )
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT at, channel, outcome, version, segments, {", ".join(_bucket_sql(n) for n in numbers)},
                count(*), {", ".join(f"SUM({_units_sql(n)})" for n in numbers)}
            FROM (
                SELECT {minute_sql(connection, started)} AS at, d.channel AS channel, a.outcome AS outcome,
                    i.template_version AS version, d.segments_bucket AS segments, {measured}
                FROM {_ATTEMPTS} JOIN {INTENT} i ON i.id = d.intent_id
                WHERE a.outcome <> '' AND {which.condition.format(at=started)}
            ) AS measured
            GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9
            """,
            flat(connection, [which.values]),
        )
        return _outcomes(cursor.fetchall())


def _bucket_sql(measure: int) -> str:
    bounds = " ".join(f"WHEN m{measure} <= {bound} THEN {n}" for n, bound in enumerate(MEASURES[measure]))
    return f"CASE WHEN m{measure} IS NULL THEN NULL {bounds} ELSE {len(MEASURES[measure])} END"


def _units_sql(measure: int) -> str:
    return f"CASE WHEN m{measure} > 0 THEN CAST(ROUND(m{measure} * {UNITS}) AS bigint) ELSE 0 END"


def _outcomes(rows: Sequence[Sequence[Any]]) -> Outcomes:
    groups: dict[OutcomeKey, list[Group]] = defaultdict(list)
    of = len(MEASURES)
    for minute, channel, outcome, version, segments, *rest in rows:
        buckets, number, units = rest[:of], rest[of], [int(one) for one in rest[of + 1 :]]
        groups[OutcomeKey(as_datetime(minute), channel, outcome, version)].append(
            Group(number=number, segments=segments, buckets=buckets, units=units)
        )
    return {key: sums_of(some) for key, some in groups.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """Where an event is counted: by which moment, with which label, in which tables.

    ``{waited}`` in a label is the seconds from due until the end, ``{settled}`` in a condition the
    moment before which hints are settled.
    """

    event: CountedEvent
    at: str
    label: str
    tables: str
    condition: str = ""


_DELIVERIES = f"{DELIVERY} d"
_ADMITTED = f"{DELIVERY} d JOIN {INTENT} i ON i.id = d.intent_id"
# What a receipt says later changes the state and not this.
_ENDING = (
    "CASE WHEN d.state IN ('accepted', 'delivered') OR (d.state = 'failed' AND d.outcome = 'accepted') "
    "THEN 'accepted' ELSE d.state END"
)
_SHADOW = "d.authority = 'shadow'"
_DELAY = "CASE {} ELSE '{}' END".format(
    " ".join(
        f"WHEN {{waited}} <= {bound} THEN '{label}'"
        for bound, label in zip(QUEUE_DELAY_SECONDS, DELAY_LABELS, strict=False)
    ),
    DELAY_LABELS[-1],
)


def _finished(event: CountedEvent, label: str, condition: str) -> _Source:
    """Something that is counted as our own work on a delivery ends."""
    return _Source(event=event, at="d.finished_at", label=label, tables=_DELIVERIES, condition=condition)


_SOURCES = (
    _Source(event=CountedEvent.ADMITTED, at="i.created_at", label="d.authority", tables=_ADMITTED),
    _Source(
        event=CountedEvent.HINT,
        at="i.created_at",
        label="d.first_hint",
        tables=_ADMITTED,
        condition="d.first_hint <> '' AND i.created_at <= {settled}",
    ),
    # Nobody waits for a shadow: how those end is not mixed with how ours do.
    _finished(CountedEvent.FINISHED, _ENDING, "d.authority <> 'shadow'"),
    _finished(CountedEvent.EXPIRED_USEFULLY, "d.reason", "d.state = 'expired' AND d.authority = 'pipeline'"),
    _finished(CountedEvent.SHADOW_CLAIMED, "''", f"{_SHADOW} AND d.claims > 0"),
    _finished(CountedEvent.SHADOW_FINISHED, _ENDING, _SHADOW),
    _finished(CountedEvent.SHADOW_REFUSED, "d.reason", f"{_SHADOW} AND d.state <> 'shadowed'"),
    _finished(CountedEvent.SHADOW_DELAY, _DELAY, f"{_SHADOW} AND d.state = 'shadowed'"),
    _finished(
        CountedEvent.SHADOW_SEGMENTS,
        "d.segments_bucket",
        f"{_SHADOW} AND d.state = 'shadowed' AND d.segments_bucket <> ''",
    ),
    _Source(event=CountedEvent.RECEIPT, at="a.receipt_at", label="a.receipt", tables=_ATTEMPTS),
    _Source(event=CountedEvent.LATE_OUTCOME, at="a.late_at", label="a.late_outcome", tables=_ATTEMPTS),
)


def events(
    connection: BaseDatabaseWrapper,
    which: Which,
    *of: CountedEvent,
    hint_settles_seconds: float = HINT_SETTLES_SECONDS,
) -> Events:
    """What happened to rows: all events that are counted from them, or only those that ``of`` names."""
    selects: list[str] = []
    params: list[Any] = []
    for source in _SOURCES:
        if not of or source.event in of:
            selects.append(_select_sql(connection, source, which))
            params += flat(connection, [which.values])
            params += [-hint_settles_seconds] if source.event is CountedEvent.HINT else []
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(selects), params)
        return {
            EventKey(as_datetime(minute), event, channel, label): number
            for event, minute, channel, label, number in cursor.fetchall()
        }


def _select_sql(connection: BaseDatabaseWrapper, source: _Source, which: Which) -> str:
    conditions = [which.condition.format(at=source.at), f"{source.at} IS NOT NULL"]
    if source.condition:
        conditions.append(source.condition.format(settled=after_sql(connection)))
    waited = seconds_between_sql(connection, earlier="d.due_at", later="d.finished_at")
    return (
        f"SELECT '{source.event.value}', {minute_sql(connection, source.at)}, d.channel, "
        f"{source.label.format(waited=waited)}, "
        f"count(*) FROM {source.tables} WHERE {' AND '.join(conditions)} GROUP BY 1, 2, 3, 4"
    )
