"""Counters as they stand: the totals of closed minutes and the minutes that are still open.

A minute is added to the totals and becomes closed in one transaction. Each statement here
reads both sides of that at one moment, so that no minute is missing or counted twice.
"""

from __future__ import annotations

import datetime as dt
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model

from notifications.outcome import OutcomeKind
from resetdelivery.domain.tally import NAMES
from resetdelivery.domain.telemetry import summed
from resetdelivery.models import EventMinute, EventTotal, OutcomeMinute, OutcomeTotal
from resetdelivery.telemetry.watermark import STATE, closed_before

#: Before any minute that was ever counted.
_EVER = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
_HISTOGRAMS = {
    "queue_delay": "queue_delay_seconds",
    "duration": "duration_seconds",
    "remaining": "remaining_ratio",
    "lease_used": "lease_used_ratio",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Buckets:
    """A histogram: how many fell into each bucket, and the sum of all values."""

    counts: Sequence[int]
    total: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """What was ever counted; absent is what never happened.

    ``attempts`` by channel, outcome and template version; ``events`` by event, channel and label.
    ``histograms`` by name (``queue_delay``, ``duration``, ``lease_used``, and ``remaining``, which is of
    accepted attempts only) and channel; ``segments`` in the order of their buckets.
    """

    attempts: Mapping[tuple[str, str, str], int]
    histograms: Mapping[tuple[str, str], Buckets]
    segments: Sequence[int]
    events: Mapping[tuple[str, str, str], int]


def read_counters(connection: BaseDatabaseWrapper) -> Counters:
    """All counters as they stand, by three statements."""
    read = partial(_rows, connection, closed_before(using=connection.alias) or _EVER)
    outcomes = [
        _unpacked(row)
        for row in read(OutcomeTotal, OutcomeMinute, ["channel", "outcome", "template_version", *NAMES])
    ]
    events = read(EventTotal, EventMinute, ["event", "channel", "label", "count"])
    return Counters(
        attempts=_added(outcomes, "channel", "outcome", "template_version", number="attempts"),
        histograms={
            (name, channel): _buckets(name, [row for row in outcomes if row["channel"] == channel])
            for channel in {row["channel"] for row in outcomes}
            for name in _HISTOGRAMS
        },
        segments=summed(*(row["segments_counts"] for row in outcomes)),
        events=_added(events, "event", "channel", "label", number="count"),
    )


def _rows(
    connection: BaseDatabaseWrapper,
    closed: dt.datetime,
    totals: type[Model],
    minutes: type[Model],
    columns: Sequence[str],
) -> list[dict[str, Any]]:
    listed = ", ".join(f'"{column}"' for column in columns)
    # Minutes only ever close, and ``closed`` were so a moment ago: the first condition takes none
    # away. Its value is known to the planner, which then reads the open minutes alone.
    sql = (
        f"SELECT {listed} FROM {totals._meta.db_table} UNION ALL "
        f"SELECT {listed} FROM {minutes._meta.db_table} "
        f"WHERE minute >= %s AND minute >= COALESCE((SELECT closed_before FROM {STATE}), %s)"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [connection.ops.adapt_datetimefield_value(at) for at in (closed, _EVER)])
        return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]


def _unpacked(row: Mapping[str, Any]) -> dict[str, Any]:
    """``row`` with its lists of counts, which come as JSON text."""
    return {
        name: json.loads(value) if name.endswith("_counts") and isinstance(value, str) else value
        for name, value in row.items()
    }


def _added(rows: Sequence[Mapping[str, Any]], *labels: str, number: str) -> dict[tuple[str, str, str], int]:
    sums: dict[tuple[str, str, str], int] = defaultdict(int)
    for row in rows:
        one, two, three = (row[label] for label in labels)
        sums[one, two, three] += row[number]
    return dict(sums)


def _buckets(name: str, rows: Sequence[Mapping[str, Any]]) -> Buckets:
    # How much life is left matters where a message went out; a retry says little about that.
    wanted = [row for row in rows if name != "remaining" or row["outcome"] == OutcomeKind.ACCEPTED]
    return Buckets(
        counts=summed(*(row[f"{name}_counts"] for row in wanted)),
        total=sum(row[_HISTOGRAMS[name]] for row in wanted),
    )
