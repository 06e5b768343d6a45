"""Rows of counts: a minute's, written anew or added to, and the lifetime totals.

The caller holds the lock that :mod:`resetdelivery.telemetry.watermark` is about.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model, QuerySet

from resetdelivery.claims.sql import Row, flat
from resetdelivery.domain.tally import NAMES, Sums, negative, plus
from resetdelivery.models import EventMinute, EventTotal, OutcomeMinute, OutcomeTotal
from resetdelivery.models.event_counts import EventCounts
from resetdelivery.models.outcome_counts import OutcomeCounts
from resetdelivery.telemetry.tallies import EventKey, Events, OutcomeKey, Outcomes

M = TypeVar("M", bound=Model)
Span = tuple[dt.datetime, dt.datetime]

OUTCOME_LABELS = ("channel", "outcome", "template_version")
EVENT_LABELS = ("event", "channel", "label")


def rewrite(connection: BaseDatabaseWrapper, span: Span, outcomes: Outcomes, events: Events) -> None:
    """Make these what is counted anew within ``span``, and write no more than what differs."""
    rows = _within(OutcomeMinute.objects.using(connection.alias), span).filter(kept=False)
    _drop(rows, {row.pk for row in rows if _outcome_key(row) not in outcomes})
    known = {_outcome_key(row): _sums(row) for row in rows}
    _put_outcomes(connection, {key: sums for key, sums in outcomes.items() if known.get(key) != sums})
    noted = _within(EventMinute.objects.using(connection.alias), span).filter(kept=False)
    _drop(noted, {row.pk for row in noted if _event_key(row) not in events})
    counts = {_event_key(row): row.count for row in noted}
    _put_events(connection, {key: number for key, number in events.items() if counts.get(key) != number})


def move(connection: BaseDatabaseWrapper, outcomes: Outcomes, events: Events) -> None:
    """From what is counted anew to what is kept, so that no sum changes.

    What is taken away may not have been counted yet: until it is, that number is below zero, and
    the two together are right.
    """
    if outcomes:
        _add_outcomes(connection, {key: negative(sums) for key, sums in outcomes.items()}, kept=False)
        _add_outcomes(connection, outcomes, kept=True)
    add_events(connection, {key: -number for key, number in events.items()}, kept=False)
    add_events(connection, events, kept=True)


def fold(connection: BaseDatabaseWrapper, span: Span) -> None:
    """Add all that is counted within ``span`` to the lifetime totals."""
    _fold_outcomes(connection, _within(OutcomeMinute.objects.using(connection.alias), span))
    _fold_events(connection, _within(EventMinute.objects.using(connection.alias), span))


def add_events(connection: BaseDatabaseWrapper, events: Events, *, kept: bool) -> None:
    """Add to the minutes' counts of ``events``; safe beside others that do."""
    if not events:
        return
    # Sorted: two that add to the same rows take them in the same order.
    rows: list[Row] = [(*key, kept, number) for key, number in sorted(events.items())]
    with connection.cursor() as cursor:
        cursor.execute(adding_sql("(%s, %s, %s, %s, %s, %s)", len(rows)), flat(connection, rows))


def adding_sql(row: str, number: int) -> str:
    """SQL that adds ``number`` rows to the minutes' counts of events; ``row`` is one row of values in SQL."""
    table = EventMinute._meta.db_table
    return (
        f"INSERT INTO {table} (minute, event, channel, label, kept, count) "
        f"VALUES {', '.join([row] * number)} "
        "ON CONFLICT (minute, event, channel, label, kept) DO UPDATE "
        f"SET count = {table}.count + excluded.count"
    )


def _add_outcomes(connection: BaseDatabaseWrapper, outcomes: Outcomes, *, kept: bool) -> None:
    """Read, add and write back: nobody else adds to attempts' counts meanwhile."""
    minutes = {key.minute for key in outcomes}
    rows = OutcomeMinute.objects.using(connection.alias).filter(minute__in=minutes, kept=kept)
    known = {_outcome_key(row): _sums(row) for row in rows}
    added = {key: plus(known.get(key, Sums()), sums) for key, sums in outcomes.items()}
    _put_outcomes(connection, added, kept=kept)


def _put_outcomes(connection: BaseDatabaseWrapper, outcomes: Outcomes, *, kept: bool = False) -> None:
    rows = [OutcomeMinute(**key._asdict(), **_columns(sums), kept=kept) for key, sums in outcomes.items()]
    _put(connection, rows, ("minute", *OUTCOME_LABELS, "kept"), NAMES)


def _put_events(connection: BaseDatabaseWrapper, events: Events) -> None:
    rows = [EventMinute(**key._asdict(), count=number) for key, number in events.items()]
    _put(connection, rows, ("minute", *EVENT_LABELS, "kept"), ["count"])


def _fold_outcomes(connection: BaseDatabaseWrapper, minutes: Iterable[OutcomeMinute]) -> None:
    totals = OutcomeTotal.objects.using(connection.alias)
    sums = {_labels(row, OUTCOME_LABELS): _sums(row) for row in totals.all()}
    added: set[tuple[str, ...]] = set()
    for row in minutes:
        labels = _labels(row, OUTCOME_LABELS)
        sums[labels] = plus(sums.get(labels, Sums()), _sums(row))
        added.add(labels)
    rows = [
        OutcomeTotal(**dict(zip(OUTCOME_LABELS, labels, strict=True)), **_columns(sums[labels]))
        for labels in sorted(added)
    ]
    _put(connection, rows, OUTCOME_LABELS, NAMES)


def _fold_events(connection: BaseDatabaseWrapper, minutes: Iterable[EventMinute]) -> None:
    totals = EventTotal.objects.using(connection.alias)
    counts = {_labels(row, EVENT_LABELS): row.count for row in totals.all()}
    added: set[tuple[str, ...]] = set()
    for row in minutes:
        labels = _labels(row, EVENT_LABELS)
        counts[labels] = counts.get(labels, 0) + row.count
        added.add(labels)
    rows = [
        EventTotal(**dict(zip(EVENT_LABELS, labels, strict=True)), count=counts[labels])
        for labels in sorted(added)
    ]
    _put(connection, rows, EVENT_LABELS, ["count"])


def _put(
    connection: BaseDatabaseWrapper, rows: Sequence[M], unique: Collection[str], columns: Collection[str]
) -> None:
    """Store ``rows``, each in the place of the one with the same ``unique`` fields."""
    if rows:
        type(rows[0])._default_manager.using(connection.alias).bulk_create(
            rows, update_conflicts=True, unique_fields=unique, update_fields=columns
        )


def _drop(rows: QuerySet[M], stale: set[int]) -> None:
    if stale:
        rows.filter(pk__in=stale).delete()


def _within(rows: QuerySet[M], span: Span) -> QuerySet[M]:
    start, end = span
    return rows.filter(minute__gte=start, minute__lt=end)


def _outcome_key(row: OutcomeMinute) -> OutcomeKey:
    return OutcomeKey(row.minute, row.channel, row.outcome, row.template_version)


def _event_key(row: EventMinute) -> EventKey:
    return EventKey(row.minute, row.event, row.channel, row.label)


def _labels(row: OutcomeCounts | EventCounts, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(getattr(row, name) for name in names)


def _sums(row: OutcomeCounts) -> Sums:
    return Sums(**{name: getattr(row, name) for name in NAMES})


def _columns(sums: Sums) -> Mapping[str, Any]:
    return {name: getattr(sums, name) for name in NAMES}
