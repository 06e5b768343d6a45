"""All statements see the tables as they were at one moment, and stop nobody."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from resetdelivery.clock import database_now
from resetdelivery.conf import get_settings
from resetdelivery.exceptions import ResetDeliveryError
from resetdelivery.telemetry.minutes import MINUTE, minute_of
from resetdelivery.telemetry.time_limit import time_limit
from resetdelivery.telemetry.watermark import closed_before

SHORTEST = dt.timedelta(minutes=1)
LONGEST = dt.timedelta(days=7)
#: All statements together.
TIME_LIMIT_SECONDS = 300.0
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
FAR = dt.datetime(9999, 1, 1, tzinfo=dt.UTC)


class InvalidWindow(ResetDeliveryError, ValueError):
    """The window is shorter than a minute or longer than seven days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What is looked at: rows from ``since`` until ``until``, whole minutes.

    All minutes before ``closed`` are final. Before ``decoys_since`` the intents of accounts that do not
    exist may be deleted already.
    """

    connection: BaseDatabaseWrapper
    now: dt.datetime
    since: dt.datetime
    until: dt.datetime
    closed: dt.datetime
    decoys_since: dt.datetime

    @property
    def final(self) -> tuple[dt.datetime, dt.datetime]:
        """The closed minutes of the window."""
        return self.since, max(self.since, min(self.closed, self.until))

    @property
    def open(self) -> tuple[dt.datetime, dt.datetime]:
        """The others: their counts change still, so they are counted anew here."""
        return max(self.since, min(self.closed, self.until)), self.until


@contextmanager
def snapshot(window: dt.timedelta, *, using: str) -> Iterator[Snapshot]:
    """The last ``window``, or what of it is kept; :class:`InvalidWindow` for one that cannot be.

    Inside a transaction of the caller's own it is as consistent as that one is.
    """
    if not SHORTEST <= window <= LONGEST:
        raise InvalidWindow(f"The window is {window}; from {SHORTEST} to {LONGEST} are allowed.")
    connection = connections[using]
    with time_limit(connection, TIME_LIMIT_SECONDS), _consistent(connection):
        yield _at(connection, window)


def _at(connection: BaseDatabaseWrapper, window: dt.timedelta) -> Snapshot:
    settings, now = get_settings(), database_now(connection)
    kept = min(settings.keep_attempts, settings.keep_intents, settings.keep_minutes)
    return Snapshot(
        connection=connection,
        now=now,
        since=max(minute_of(now - window), _whole(now - kept)),
        until=minute_of(now) + MINUTE,
        closed=closed_before(using=connection.alias) or EPOCH,
        decoys_since=_whole(now - settings.keep_decoys),
    )


def _whole(moment: dt.datetime) -> dt.datetime:
    """The first minute of which nothing is older than ``moment``."""
    return minute_of(moment) + MINUTE


@contextmanager
def _consistent(connection: BaseDatabaseWrapper) -> Iterator[None]:
    if connection.vendor == "sqlite":
        with _deferred(connection):
            yield
        return
    # time_limit began the transaction, unless the caller did.
    if len(connection.savepoint_ids) == 0:
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
    yield


@contextmanager
def _deferred(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """A transaction that reads: one of Django's would take the one writer's place."""
    if connection.in_atomic_block:
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("BEGIN DEFERRED")
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")
