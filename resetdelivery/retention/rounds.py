"""One round of purging: its moments, and its batches, each a short transaction of its own.

Nobody is waited for: rows that somebody holds are passed over and found by the next round. A batch
goes on where the one before it ended, so that a round reads what it may not touch yet only once.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from resetdelivery.claims.sql import flat, lock_sql
from resetdelivery.clock import database_now
from resetdelivery.conf import Settings, get_settings
from resetdelivery.telemetry.watermark import closed_before

#: Before everything that is stored.
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

#: What becomes of the rows with these ids, inside the batch's transaction; how many that were.
Take = Callable[[CursorWrapper, Sequence[int]], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """The moments of one round, by the database's clock.

    All minutes before ``counted_before`` are in the lifetime totals.
    """

    connection: BaseDatabaseWrapper
    settings: Settings
    now: dt.datetime
    counted_before: dt.datetime

    def before(self, keep: dt.timedelta) -> dt.datetime:
        """What is older than this was kept for ``keep``."""
        try:
            return max(EPOCH, self.now - keep)
        except OverflowError:
            return EPOCH

    def counted(self, keep: dt.timedelta) -> dt.datetime:
        """The same for what is counted: never what is not in the totals yet."""
        return min(self.before(keep), self.counted_before)

    def moments(self, *values: dt.datetime | int) -> list[Any]:
        """Parameters as the database wants them."""
        return flat(self.connection, [values])


def begin(connection: BaseDatabaseWrapper) -> Round:
    """A round that begins now."""
    return Round(
        connection=connection,
        settings=get_settings(),
        now=database_now(connection),
        counted_before=closed_before(using=connection.alias) or EPOCH,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """Rows of ``table`` under ``where``, oldest first by the indexed column ``by``, before a moment."""

    table: str
    by: str
    before: dt.datetime
    where: str = "1 = 1"
    params: Sequence[Any] = ()
    lock: bool = True


def walk(round_: Round, rows: Walk, take: Take) -> Iterator[int]:
    """Batch by batch, how many rows ``take`` took."""
    size = round_.settings.purge_batch
    after: Sequence[Any] = (*round_.moments(EPOCH), 0)
    while True:
        with _batch(round_) as cursor:
            found = _next(round_, cursor, rows, after)
            taken = take(cursor, [row_id for row_id, _ in found]) if found else 0
        yield taken
        if len(found) < size:
            return
        after = (found[-1][1], found[-1][0])


def _next(
    round_: Round, cursor: CursorWrapper, rows: Walk, after: Sequence[Any]
) -> list[tuple[int, dt.datetime | str]]:
    # As text on SQLite, which must get back exactly what it stores.
    moment = rows.by if round_.connection.vendor == "postgresql" else f"CAST({rows.by} AS TEXT)"
    cursor.execute(
        f"SELECT id, {moment} FROM {rows.table} WHERE {rows.by} < %s AND ({rows.by}, id) > (%s, %s) "
        f"AND {rows.where} ORDER BY {rows.by}, id LIMIT %s "
        + (lock_sql(round_.connection, "skip") if rows.lock else ""),
        [*round_.moments(rows.before), *after, *rows.params, round_.settings.purge_batch],
    )
    found: list[tuple[int, dt.datetime | str]] = cursor.fetchall()
    return found


def walk_by_id(round_: Round, table: str, by: str, before: dt.datetime, take: Take) -> Iterator[int]:
    """The same in the order of ids, which rises with time, up to the first row that is young.

    No index on the moment alone has to be kept, and what is still of use is not read.
    """
    size, last = round_.settings.purge_batch, 0
    while True:
        with _batch(round_) as cursor:
            cursor.execute(
                f"SELECT id, {by} < %s FROM {table} WHERE id > %s ORDER BY id LIMIT %s "
                + lock_sql(round_.connection, "skip"),
                [*round_.moments(before), last, size],
            )
            found = cursor.fetchall()
            old = [row_id for row_id, is_old in found if is_old]
            taken = take(cursor, old) if old else 0
        yield taken
        if len(found) < size or not found[-1][1]:
            return
        last = found[-1][0]


@contextmanager
def _batch(round_: Round) -> Iterator[CursorWrapper]:
    with transaction.atomic(using=round_.connection.alias), round_.connection.cursor() as cursor:
        yield cursor
