"""The few places where the two databases' SQL differs, and rows as SQL values."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from resetdelivery.clock import now_sql
from resetdelivery.models import Attempt, ChannelControl, Delivery, ProviderCircuit, ResetIntent

INTENT = ResetIntent._meta.db_table
DELIVERY = Delivery._meta.db_table
ATTEMPT = Attempt._meta.db_table
CONTROL = ChannelControl._meta.db_table
CIRCUIT = ProviderCircuit._meta.db_table

Value = int | float | str | bool | dt.datetime
Row = tuple[Value, ...]

# SQLite has one writer at a time (BEGIN IMMEDIATE): whoever reads here is already alone.
_LOCKS = {
    "postgresql": {
        "share": "FOR SHARE",
        "update": "FOR NO KEY UPDATE",
        "skip": "FOR NO KEY UPDATE SKIP LOCKED",
    },
    "sqlite": {"share": "", "update": "", "skip": ""},
}


def lock_sql(connection: BaseDatabaseWrapper, kind: str) -> str:
    """The row lock clause: ``share``, ``update``, or ``skip`` (update, passing over locked rows)."""
    return _LOCKS[connection.vendor][kind]


def marks(values: Sequence[object]) -> str:
    """Placeholders for an IN list; of an empty list, NULL, which nothing is in."""
    return ", ".join(["%s"] * len(values)) or "NULL"


def values_cte(name: str, columns: Sequence[str], rows: Sequence[Row]) -> str:
    """``name(columns) AS (VALUES …)`` for a WITH clause; ``rows`` only gives the number of rows."""
    one = "(" + ", ".join(["%s"] * len(columns)) + ")"
    return f"{name}({', '.join(columns)}) AS (VALUES {', '.join([one] * len(rows))})"


def flat(connection: BaseDatabaseWrapper, rows: Sequence[Row]) -> list[Any]:
    """The parameters of :func:`values_cte`, as the database wants its moments."""
    return [_adapted(connection, value) for row in rows for value in row]


def _adapted(connection: BaseDatabaseWrapper, value: Value) -> Any:
    if isinstance(value, dt.datetime):
        return connection.ops.adapt_datetimefield_value(value)
    return value


def lock_intents(
    connection: BaseDatabaseWrapper, cursor: CursorWrapper, ids: Sequence[int], kind: str = "update"
) -> dict[int, str]:
    """Lock intents in ascending order; their ids and cancel reasons ("" if none is requested)."""
    wanted = sorted(set(ids))
    cursor.execute(
        f"SELECT id, cancel_reason FROM {INTENT} WHERE id IN ({marks(wanted)}) "
        f"ORDER BY id {lock_sql(connection, kind)}",
        wanted,
    )
    return dict(cursor.fetchall())


def close_intents(connection: BaseDatabaseWrapper, cursor: CursorWrapper, ids: Sequence[int]) -> None:
    """Close those of the intents (locked by the caller) of which nothing can happen any more."""
    wanted = sorted(set(ids))
    cursor.execute(
        f"UPDATE {INTENT} SET state = 'closed', closed_at = {now_sql(connection)} "
        f"WHERE id IN ({marks(wanted)}) AND state = 'open' AND NOT EXISTS ("
        f"SELECT 1 FROM {DELIVERY} d WHERE d.intent_id = {INTENT}.id "
        "AND d.state IN ('waiting', 'pending', 'leased', 'submitting'))",
        wanted,
    )
