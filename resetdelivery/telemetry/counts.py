"""Counts that are added as things happen, in the transaction in which they do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db.backends.base.base import BaseDatabaseWrapper

from notifications.channels import Channel
from resetdelivery.clock import now_sql
from resetdelivery.domain.telemetry import CountedEvent
from resetdelivery.telemetry import watermark
from resetdelivery.telemetry.ledger import adding_sql, move
from resetdelivery.telemetry.minutes import minute_sql
from resetdelivery.telemetry.tallies import Events, events, of_attempt, of_deliveries, outcomes

#: What happened, on which channel, with which label.
What = tuple[CountedEvent, Channel, str]


def count(
    connection: BaseDatabaseWrapper, event: CountedEvent, channel: Channel, label: str, number: int = 1
) -> None:
    """Count ``number`` of ``event`` in the current minute, with the caller's transaction."""
    count_all(connection, {(event, channel, label): number})


def count_all(connection: BaseDatabaseWrapper, numbers: Mapping[What, int]) -> None:
    """The same of several, in one statement; none where there is nothing to count."""
    # Sorted: two that add to the same rows take them in the same order.
    rows = [(*what, number) for what, number in sorted(numbers.items()) if number]
    if not rows:
        return
    minute = minute_sql(connection, now_sql(connection))
    with connection.cursor() as cursor:
        cursor.execute(
            adding_sql(f"({minute}, %s, %s, %s, true, %s)", len(rows)),
            [value for row in rows for value in row],
        )


def keep(connection: BaseDatabaseWrapper, delivery_ids: Sequence[int], *, closed_too: bool = False) -> None:
    """Keep the counts of deliveries that the caller is about to delete; no sum changes by this.

    As far as their minutes are open, or with ``closed_too`` of all minutes: where rows go so early that
    their minutes are still reconciled with rows. In the caller's transaction, once, with their intents
    locked and before the rows go. An attempt that is still running is not counted: nobody will learn
    how it ended.
    """
    if not delivery_ids:
        return
    closed = watermark.hold(connection)
    which = of_deliveries(delivery_ids, since=None if closed_too else closed)
    move(connection, outcomes(connection, which), events(connection, which, hint_settles_seconds=0))


def told(connection: BaseDatabaseWrapper, attempt: int) -> Events:
    """The receipt that an attempt has, as it is counted; the caller holds its intent's lock."""
    return events(connection, of_attempt(attempt), CountedEvent.RECEIPT)


def keep_told(connection: BaseDatabaseWrapper, before: Events) -> None:
    """Keep the count of what :func:`told` was, now that another word stands in its place."""
    if before:
        closed = watermark.share(connection)
        move(connection, {}, {key: n for key, n in before.items() if closed is None or key.minute >= closed})
