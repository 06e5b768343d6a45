"""Count rows by the minute, and close minutes: their counts go to the lifetime totals, for good.

Nothing of this stands in a delivery's way: a minute is counted from its rows, as often as it takes,
until nothing of it can change any more. Each step is a short transaction of its own, and one that
was cut off has changed nothing.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from django.db import connections, router, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from resetdelivery.claims.sql import ATTEMPT, DELIVERY, INTENT, flat
from resetdelivery.clock import as_datetime, database_now
from resetdelivery.conf import get_settings
from resetdelivery.models import EventMinute, OutcomeMinute, RollupState
from resetdelivery.telemetry import ledger, tallies, watermark
from resetdelivery.telemetry.minutes import MINUTE, minute_of
from resetdelivery.telemetry.watermark import closed_before

__all__ = ["RolledUp", "closed_before", "roll_up"]

#: About as many rows of one kind are counted in one transaction, or one minute's if it has more; of no
#: more minutes than this, for each is some rows as well.
CHUNK_ROWS = 20_000
CHUNK_MINUTES = 60
#: At most so many steps of closing in one pass: what is behind catches up over several.
CHUNKS = 20
#: A minute that something holds open for longer than this is counted again only as it is closed.
RECOUNTED = dt.timedelta(hours=1)

_MOMENTS = (
    (ATTEMPT, "started_at"),
    (ATTEMPT, "receipt_at"),
    (ATTEMPT, "late_at"),
    (DELIVERY, "finished_at"),
    (INTENT, "created_at"),
    (OutcomeMinute._meta.db_table, "minute"),
    (EventMinute._meta.db_table, "minute"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RolledUp:
    """What a pass did, in steps of closing and of counting anew.

    ``behind``: there is more to close, and the next pass goes on with it. ``busy``: somebody else
    was at it.
    """

    closed: int = 0
    recounted: int = 0
    behind: bool = False
    busy: bool = False


class _Busy(Exception):
    """Somebody else rolls up."""


def roll_up(*, using: str | None = None) -> RolledUp:
    """Close the minutes that are over and done with, and count the open ones anew.

    A minute is over ``ROLLUP_CLOSE_AFTER`` it ended, and done with when no attempt of it runs any
    more. Minutes are closed in order: one that is not done with holds up all behind it. What became
    of an admission's hint is counted 30 seconds later, for until then it can be taken back.
    """
    connection = connections[using or router.db_for_write(RollupState)]
    closed = recounted = 0
    try:
        while closed < CHUNKS and _close_some(connection):
            closed += 1
        start = _recount_from(connection)
        while start is not None:
            start = _recount_some(connection, start)
            recounted += 1
    except _Busy:
        return RolledUp(closed=closed, recounted=recounted, busy=True)
    return RolledUp(closed=closed, recounted=recounted, behind=closed == CHUNKS)


def _close_some(connection: BaseDatabaseWrapper) -> bool:
    """Close what comes next; whether there was any."""
    with transaction.atomic(using=connection.alias):
        start, now = _begin(connection)
        span = start and _closable(connection, start, _close_limit(now))
        if not span:
            return False
        _count(connection, span)
        ledger.fold(connection, span)
        watermark.move_to(connection, span[1])
    return True


def _recount_from(connection: BaseDatabaseWrapper) -> dt.datetime | None:
    """The first minute to count anew, if any is."""
    start = closed_before(using=connection.alias) or _earliest(connection)
    if start is None:
        return None
    return max(start, _close_limit(database_now(connection)) - RECOUNTED)


def _recount_some(connection: BaseDatabaseWrapper, start: dt.datetime) -> dt.datetime | None:
    """Count a few open minutes anew, from ``start`` on; where to go on, if anywhere."""
    with transaction.atomic(using=connection.alias):
        first, now = _begin(connection)
        limit = minute_of(now) + MINUTE
        start = max(start, first or start)
        if start >= limit:
            return None
        end = _chunk_end(connection, start, limit)
        _count(connection, (start, end))
    return end if end < limit else None


def _begin(connection: BaseDatabaseWrapper) -> tuple[dt.datetime | None, dt.datetime]:
    """Take the turn and the watermark: the first open minute, and the time."""
    if not watermark.take_turn(connection):
        raise _Busy
    closed = watermark.hold(connection)
    return closed or _earliest(connection), database_now(connection)


def _close_limit(now: dt.datetime) -> dt.datetime:
    """The minute from which on none is over."""
    wait = max(get_settings().rollup_close_after, dt.timedelta(seconds=tallies.HINT_SETTLES_SECONDS))
    return minute_of(now - wait)


def _closable(connection: BaseDatabaseWrapper, start: dt.datetime, limit: dt.datetime) -> ledger.Span | None:
    if start >= limit:
        return None
    end = _until_running(connection, start, _chunk_end(connection, start, limit))
    return (start, end) if start < end else None


def _count(connection: BaseDatabaseWrapper, span: ledger.Span) -> None:
    which = tallies.between(*span)
    ledger.rewrite(connection, span, tallies.outcomes(connection, which), tallies.events(connection, which))


def _earliest(connection: BaseDatabaseWrapper) -> dt.datetime | None:
    """The minute of the first thing that is counted; ``None`` if nothing is."""
    firsts = " UNION ALL ".join(
        f"SELECT MIN({at}) AS at FROM {table} WHERE {at} IS NOT NULL" for table, at in _MOMENTS
    )
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT MIN(at) FROM ({firsts}) AS firsts")
        (value,) = cursor.fetchone()
    return None if value is None else minute_of(as_datetime(value))


def _chunk_end(connection: BaseDatabaseWrapper, start: dt.datetime, limit: dt.datetime) -> dt.datetime:
    """From ``start`` as far as one transaction goes; what lies before the first row is no work."""
    bounds = flat(connection, [(start, limit)])
    firsts, fars = [], []
    for number, (table, at) in enumerate(_MOMENTS):
        within = f"FROM {table} WHERE {at} >= %s AND {at} < %s"
        firsts.append(f"SELECT MIN({at}) AS at {within}")
        last = f"SELECT {at} AS at {within} ORDER BY {at} LIMIT 1 OFFSET {CHUNK_ROWS}"
        fars.append(f"SELECT at FROM ({last}) AS far_{number}")
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT (SELECT MIN(at) FROM ({' UNION ALL '.join(firsts)}) AS firsts), "
            f"(SELECT MIN(at) FROM ({' UNION ALL '.join(fars)}) AS fars)",
            bounds * (2 * len(_MOMENTS)),
        )
        first, far = (None if at is None else minute_of(as_datetime(at)) for at in cursor.fetchone())
    if first is None:
        return limit
    end = min(limit, first + CHUNK_MINUTES * MINUTE)
    return end if far is None else min(end, max(first + MINUTE, far))


def _until_running(connection: BaseDatabaseWrapper, start: dt.datetime, end: dt.datetime) -> dt.datetime:
    """The minute of the first attempt in between that still runs, or ``end``.

    One whose delivery is no more under its token does not: nobody will end it.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT MIN(a.started_at) FROM {ATTEMPT} a "
            "WHERE a.outcome = '' AND a.started_at >= %s AND a.started_at < %s "
            f"AND EXISTS (SELECT 1 FROM {DELIVERY} d WHERE d.id = a.delivery_id "
            "AND d.state = 'submitting' AND d.lease_token = a.token)",
            flat(connection, [(start, end)]),
        )
        (value,) = cursor.fetchone()
    return end if value is None else minute_of(as_datetime(value))
