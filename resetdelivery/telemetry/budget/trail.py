"""What our own tables hold once the retention is full: rows, and the indexes on them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

from resetdelivery.conf import Settings
from resetdelivery.domain.budget import Volume, days, index_bytes, mean, row_bytes
from resetdelivery.models import (
    Attempt,
    Delivery,
    EventMinute,
    IdempotencyKey,
    LimitUse,
    OutcomeMinute,
    ResetIntent,
)

#: From so many rows on, what a table takes on the disk says something about one row.
ENOUGH_ROWS = 1000
#: Label sets that a busy minute has rows for, on one channel.
OUTCOMES_PER_MINUTE = 2
EVENTS_PER_MINUTE = 5
#: Of a text without a closed set of values: as long as its column, and no longer than this.
TEXT_BYTES = 32
JSON_BYTES = 120
_WIDTHS = {
    "BigAutoField": 8,
    "BigIntegerField": 8,
    "BooleanField": 1,
    "DateTimeField": 8,
    "FloatField": 8,
    "ForeignKey": 8,
    "JSONField": JSON_BYTES,
    "PositiveIntegerField": 4,
    "PositiveSmallIntegerField": 2,
    "UUIDField": 16,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCost:
    """One table: how many rows are made and how long they stay, and octets for each.

    ``is_measured``: from what PostgreSQL says of the table; otherwise reckoned from its columns, with
    each index in full, also a partial one.
    """

    table: str
    rows_per_day: float
    days: float
    row_bytes: float
    index_bytes: float
    is_measured: bool

    @property
    def kept_bytes(self) -> float:
        """Octets held once the retention is full."""
        volume = Volume(per_day=self.rows_per_day, days=self.days)
        return volume.kept_bytes(self.row_bytes + self.index_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    model: type[models.Model]
    per_day: float
    kept: dt.timedelta


def table_costs(
    settings: Settings, *, attempts_per_reset: float, connection: BaseDatabaseWrapper | None = None
) -> tuple[TableCost, ...]:
    """The costs of the tables that grow, the dearest first; without a ``connection`` nothing is measured."""
    costs = [_cost(rows, connection) for rows in _made(settings, attempts_per_reset)]
    return tuple(sorted(costs, key=lambda cost: -cost.kept_bytes))


def _made(settings: Settings, attempts_per_reset: float) -> Iterator[_Rows]:
    resets, channels, day = settings.resets_per_day, len(settings.channels), dt.timedelta(days=1)
    yield _Rows(model=Attempt, per_day=resets * attempts_per_reset, kept=settings.keep_attempts)
    yield _Rows(model=Delivery, per_day=resets * channels, kept=settings.keep_intents)
    yield _Rows(model=ResetIntent, per_day=resets, kept=settings.keep_intents)
    yield _Rows(model=IdempotencyKey, per_day=resets, kept=settings.keep_idempotency_keys)
    # One for the account and one for each destination, for the longest window.
    yield _Rows(model=LimitUse, per_day=resets * (1 + channels), kept=day)
    minutes = day // dt.timedelta(minutes=1) * channels
    yield _Rows(model=OutcomeMinute, per_day=minutes * OUTCOMES_PER_MINUTE, kept=settings.keep_minutes)
    yield _Rows(model=EventMinute, per_day=minutes * EVENTS_PER_MINUTE, kept=settings.keep_minutes)


def _cost(rows: _Rows, connection: BaseDatabaseWrapper | None) -> TableCost:
    measured = _measured(rows.model, connection) if connection else None
    row, index = measured or _reckoned(rows.model)
    return TableCost(
        table=rows.model._meta.db_table,
        rows_per_day=rows.per_day,
        days=days(rows.kept),
        row_bytes=row,
        index_bytes=index,
        is_measured=measured is not None,
    )


def _measured(model: type[models.Model], connection: BaseDatabaseWrapper) -> tuple[float, float] | None:
    """Octets on the disk for each row and its index entries, where PostgreSQL counted enough rows."""
    if connection.vendor != "postgresql":
        return None
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT reltuples, pg_table_size(oid), pg_indexes_size(oid) FROM pg_class "
            "WHERE oid = to_regclass(%s)",
            [model._meta.db_table],
        )
        found = cursor.fetchone()
    if found is None or found[0] < ENOUGH_ROWS:
        return None
    return found[1] / found[0], found[2] / found[0]


def _reckoned(model: type[models.Model]) -> tuple[float, float]:
    fields = model._meta.concrete_fields
    row = row_bytes([_width(field) for field in fields], nullable=any(field.null for field in fields))
    return row, sum(
        index_bytes([_width(model._meta.get_field(n)) for n in names]) for names in _indexes(model)
    )


def _indexes(model: type[models.Model]) -> Iterator[Iterable[str]]:
    """The columns of each index."""
    yield from ((f.name,) for f in model._meta.concrete_fields if f.unique or _has_index(f))
    yield from (index.fields for index in model._meta.indexes)
    yield from (c.fields for c in model._meta.constraints if isinstance(c, models.UniqueConstraint))


def _has_index(field: Any) -> bool:
    return bool(field.db_index)


def _width(field: Any) -> int:
    """Octets of a value in a row; a text's length is stored with it."""
    known = _WIDTHS.get(field.get_internal_type())
    if known is not None:
        return known
    if field.choices:
        return round(1 + mean([len(str(value)) for value, _ in field.choices]))
    return 1 + min(cast("int", field.max_length), TEXT_BYTES)
