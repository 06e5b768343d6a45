"""The database's clock, one expression per database.

Leases and expiries are compared on one clock, whatever the workers' own clocks say.
"""

from __future__ import annotations

import datetime as dt

from django.db.backends.base.base import BaseDatabaseWrapper

_NOW = {
    # Not now(): that is the transaction's start, and a lock may have been waited for since.
    "postgresql": "clock_timestamp()",
    # Django stores UTC as text with six digits; with fewer, text order would not be time order.
    "sqlite": "(strftime('%%Y-%%m-%%d %%H:%%M:%%f','now') || '000')",
}
_AFTER = {
    "postgresql": "(clock_timestamp() + %s * interval '1 second')",
    "sqlite": "(strftime('%%Y-%%m-%%d %%H:%%M:%%f','now', %s || ' seconds') || '000')",
}
_SECONDS_BETWEEN = {
    "postgresql": "EXTRACT(EPOCH FROM ({later} - {earlier}))",
    # It reckons in milliseconds; the days between, as floats, miss them by some microseconds, and a
    # delay of just 0.1 s would be one of more.
    "sqlite": "ROUND((julianday({later}) - julianday({earlier})) * 86400.0, 3)",
}


def now_sql(connection: BaseDatabaseWrapper) -> str:
    """SQL for the moment at which it is evaluated."""
    return _NOW[connection.vendor]


def after_sql(connection: BaseDatabaseWrapper) -> str:
    """SQL for a moment as many seconds from now as its one parameter says (may be negative)."""
    return _AFTER[connection.vendor]


def seconds_between_sql(connection: BaseDatabaseWrapper, *, earlier: str, later: str) -> str:
    """SQL for the seconds from ``earlier`` to ``later``, two SQL expressions."""
    return _SECONDS_BETWEEN[connection.vendor].format(earlier=earlier, later=later)


def database_now(connection: BaseDatabaseWrapper) -> dt.datetime:
    """The database's time, aware, in UTC."""
    with connection.cursor() as cursor:
        # The empty list makes Django turn the doubled percent signs into single ones.
        cursor.execute(f"SELECT {now_sql(connection)}", [])
        (value,) = cursor.fetchone()
    return as_datetime(value)


def as_datetime(value: dt.datetime | str) -> dt.datetime:
    """A moment as a raw cursor returns it, as an aware datetime in UTC."""
    moment = dt.datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment.astimezone(dt.UTC) if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
