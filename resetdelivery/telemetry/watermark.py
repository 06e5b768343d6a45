"""Up to where counts are final, and who may change what is counted: the one row of ``RollupState``.

Its lock comes after the intents' and before that of any row of counts.
"""

from __future__ import annotations

import datetime as dt

from django.db import router
from django.db.backends.base.base import BaseDatabaseWrapper

from resetdelivery.clock import as_datetime
from resetdelivery.models import RollupState

STATE = RollupState._meta.db_table

# On SQLite whoever writes is alone.
_LOCKS = {
    "postgresql": {
        # Beside each other, and beside a pass of the rollup that looks whether there is work.
        "share": "FOR KEY SHARE",
        "turn": "FOR NO KEY UPDATE SKIP LOCKED",
        "hold": "FOR UPDATE",
    },
    "sqlite": {"share": "", "turn": "", "hold": ""},
}


def closed_before(*, using: str | None = None) -> dt.datetime | None:
    """All minutes before this are in the lifetime totals; ``None`` until one is."""
    alias = using or router.db_for_read(RollupState)
    return RollupState.objects.using(alias).values_list("closed_before", flat=True).first()


def take_turn(connection: BaseDatabaseWrapper) -> bool:
    """Become the one that rolls up, until this transaction ends; false if somebody else is."""
    ensure(connection)
    return bool(_locked(connection, "turn"))


def hold(connection: BaseDatabaseWrapper) -> dt.datetime | None:
    """``closed_before``, while nobody else counts or moves counts until this transaction ends."""
    ensure(connection)
    return _moment(_locked(connection, "hold"))


def share(connection: BaseDatabaseWrapper) -> dt.datetime | None:
    """``closed_before``, which does not move until this transaction ends."""
    ensure(connection)
    return _moment(_locked(connection, "share"))


def move_to(connection: BaseDatabaseWrapper, moment: dt.datetime) -> None:
    """Say that all minutes before ``moment`` are final; the caller holds the row."""
    RollupState.objects.using(connection.alias).filter(pk=1).update(closed_before=moment)


def ensure(connection: BaseDatabaseWrapper) -> None:
    """See to it that there is a row to lock."""
    states = RollupState.objects.using(connection.alias)
    if not states.exists():
        states.bulk_create([RollupState()], ignore_conflicts=True)


def _locked(connection: BaseDatabaseWrapper, kind: str) -> list[tuple[dt.datetime | str | None]]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT closed_before FROM {STATE} WHERE id = 1 {_LOCKS[connection.vendor][kind]}")
        rows: list[tuple[dt.datetime | str | None]] = cursor.fetchall()
    return rows


def _moment(rows: list[tuple[dt.datetime | str | None]]) -> dt.datetime | None:
    ((value,),) = rows
    return None if value is None else as_datetime(value)
