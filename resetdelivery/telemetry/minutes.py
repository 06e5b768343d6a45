"""Whole minutes of the database's time."""

from __future__ import annotations

import datetime as dt

from django.db.backends.base.base import BaseDatabaseWrapper

MINUTE = dt.timedelta(minutes=1)

_MINUTE_OF = {
    "postgresql": "date_trunc('minute', {at})",
    # As Django stores a moment without microseconds, so that both are one value to the database.
    "sqlite": "(substr({at}, 1, 16) || ':00')",
}


def minute_of(moment: dt.datetime) -> dt.datetime:
    """The minute that ``moment`` is in, as its first instant."""
    return moment.replace(second=0, microsecond=0)


def minute_sql(connection: BaseDatabaseWrapper, at: str) -> str:
    """SQL for the minute that ``at``, an SQL expression, is in."""
    return _MINUTE_OF[connection.vendor].format(at=at)
