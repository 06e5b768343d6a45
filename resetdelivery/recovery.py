"""Wake due retries, put back abandoned work, end overdue work. No second dispatcher.

Each step is safe to run twice at once: hints are claimed by compare-and-set on ``hinted_at``,
states by compare-and-set under the intents' locks.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connections, router, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from notifications.channels import Channel
from resetdelivery import broker, dispatch, fallback
from resetdelivery.abandoned import put_back_abandoned
from resetdelivery.claims.follow import move_on
from resetdelivery.claims.sql import CIRCUIT, CONTROL, DELIVERY, lock_intents, lock_sql, marks
from resetdelivery.clock import after_sql, now_sql, seconds_between_sql
from resetdelivery.conf import Dispatch, Recovery, Settings, get_settings
from resetdelivery.domain.lease import waves
from resetdelivery.domain.reasons import DeliveryReason
from resetdelivery.domain.telemetry import CountedEvent, FirstHint
from resetdelivery.logs import get_logger
from resetdelivery.models import Delivery
from resetdelivery.telemetry import traces
from resetdelivery.telemetry.counts import count_all

log = get_logger("resetdelivery.recovery")

#: Rows named in one message: a task claims that many at once and finds the rest by itself.
HINT_SIZE = 50
#: Rows ended in one transaction.
BATCH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What one sweep did, or, when it only observes, what it would have done: rows per kind."""

    put_back: int = 0
    ended: int = 0
    hinted: int = 0


def wake_due(*, using: str | None = None) -> int:
    """Arm fallback channels and publish hints for rows whose time has come; how many were hinted at.

    Without a broker there is nobody to hint at, but channels are armed just the same.
    """
    alias = using or router.db_for_write(Delivery)
    fallback.arm_due(using=alias)
    if get_settings().dispatch is not Dispatch.BROKER:
        return 0
    woken = _hint(alias, "(outcome <> '' OR arm_reason <> '') AND hinted_at IS NULL", [])
    _hint_probes(alias)
    return woken


def _hint_probes(alias: str) -> None:
    """Where a provider's pause is over and rows wait, somebody must look whether it is back.

    The rows' own hints were spent on finding it away. This ends by itself: a probe moves the
    pause on, and without due rows nothing is published.
    """
    connection = connections[alias]
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT DISTINCT channel FROM {CIRCUIT} WHERE open_until <= {now_sql(connection)} "
            f"AND NOT EXISTS (SELECT 1 FROM {CONTROL} c WHERE c.channel = {CIRCUIT}.channel AND c.paused)",
            [],
        )
        due = {channel for (channel,) in cursor.fetchall()}
    for channel in get_settings().channels:
        if channel.value in due and _has_room(connection, channel):
            dispatch.publish_hint(channel, [])


def sweep(*, using: str | None = None) -> Swept:
    """Put back what was abandoned and hint at what nobody came for.

    ``RECOVERY`` decides: ``on`` acts, ``observe`` only counts, ``off`` rests.
    """
    alias = using or router.db_for_write(Delivery)
    settings = get_settings()
    if settings.recovery is Recovery.OFF:
        return Swept()
    if settings.recovery is Recovery.OBSERVE:
        return _observed(alias)
    began = time.monotonic()
    # Leases first and without a bound: only hints may wait for another run.
    returned = put_back_abandoned(using=alias)
    seconds = time.monotonic() - began
    hinted = _hint_forgotten(alias, settings) if settings.dispatch is Dispatch.BROKER else 0
    swept = Swept(put_back=returned.put_back, ended=returned.ended, hinted=hinted)
    if swept != Swept():
        log.info("swept", put_back=swept.put_back, ended=swept.ended, hinted=swept.hinted)
    # Last, for it may wait a few seconds for the collector.
    traces.swept(intents=returned.intents, rows=returned.rows, seconds=seconds, using=alias)
    return swept


def expire_overdue(*, using: str | None = None) -> int:
    """End PENDING and WAITING work that is past help, paused or not; how many rows.

    PENDING work expires; a channel that waited until now is cancelled as not needed.
    """
    alias = using or router.db_for_write(Delivery)
    settings = get_settings()
    return sum(
        _expire_channel(alias, channel, settings.policy(channel).useful_floor_seconds)
        for channel in Channel  # one that is configured no more as well
    )


def _expire_channel(alias: str, channel: Channel, useful_floor_seconds: float) -> int:
    total = 0
    while True:
        ended = _expire_some(connections[alias], channel, useful_floor_seconds)
        total += ended
        if ended < BATCH:
            return total


def _expire_some(connection: BaseDatabaseWrapper, channel: Channel, useful_floor_seconds: float) -> int:
    overdue = f"channel = %s AND state IN ('pending', 'waiting') AND expires_at < {after_sql(connection)}"
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id, intent_id FROM {DELIVERY} WHERE {overdue} ORDER BY expires_at, id LIMIT {BATCH}",
            [channel.value, useful_floor_seconds],
        )
        found: dict[int, int] = dict(cursor.fetchall())
        if not found:
            return 0
        lock_intents(connection, cursor, list(found.values()))
        cursor.execute(
            f"UPDATE {DELIVERY} SET state = CASE state WHEN 'waiting' THEN 'cancelled' ELSE 'expired' END, "
            f"reason = CASE state WHEN 'waiting' THEN %s ELSE %s END, finished_at = {now_sql(connection)} "
            f"WHERE id IN ({marks(list(found))}) AND {overdue}",
            [
                *(DeliveryReason.NOT_NEEDED.value, DeliveryReason.NO_USEFUL_TIME_LEFT.value),
                *(*found, channel.value, useful_floor_seconds),
            ],
        )
        ended = int(cursor.rowcount)
        move_on(connection, cursor, list(found.values()))
    return ended


def _hint_forgotten(alias: str, settings: Settings) -> int:
    """Hint at due rows of which nobody was told, or not for a while: each wait is twice the last."""
    connection = connections[alias]
    since_due = seconds_between_sql(connection, earlier="due_at", later="hinted_at")
    since_hint = seconds_between_sql(connection, earlier="hinted_at", later=now_sql(connection))
    return _hint(
        alias,
        f"(hinted_at IS NULL OR ({since_hint} >= %s AND {since_hint} >= {since_due}))",
        [settings.sweep_grace.total_seconds()],
    )


def _hint(alias: str, condition: str, params: Sequence[float]) -> int:
    """Hint at due rows under ``condition``, channel by channel; how many rows."""
    return sum(
        _hint_channel(connections[alias], channel, condition, params) for channel in get_settings().channels
    )


def _hint_channel(
    connection: BaseDatabaseWrapper, channel: Channel, condition: str, params: Sequence[float]
) -> int:
    if not _has_room(connection, channel):
        return 0
    ids = _take_hints(connection, channel, condition, params)
    published = _publish(channel, ids)
    count_all(
        connection,
        {
            (CountedEvent.LATER_HINT, channel, FirstHint.PUBLISHED): published,
            (CountedEvent.LATER_HINT, channel, FirstHint.FAILED): len(ids) - published,
        },
    )
    if published == len(ids):
        return published
    dispatch.note_unhinted(ids, using=connection.alias)
    return 0


def _publish(channel: Channel, ids: Sequence[int]) -> int:
    """Hint at ``ids``, a message for a few of them each, until one fails; of how many was told."""
    published = 0
    for some in waves(ids, HINT_SIZE):
        if not dispatch.publish_hint(channel, some):
            break
        published += len(some)
    return published


def _has_room(connection: BaseDatabaseWrapper, channel: Channel) -> bool:
    """Whether rows are due and no more messages than such rows stand in the queue already.

    The rows are looked at first: with nothing due, the broker is not asked at all.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*) FROM (SELECT 1 FROM {DELIVERY} WHERE channel = %s AND state = 'pending' "
            f"AND due_at <= {now_sql(connection)} LIMIT 1000) AS due",
            [channel.value],
        )
        (ready,) = cursor.fetchone()
    if not ready:
        return False
    try:
        return broker.queue_length(get_settings().channel(channel).queue) <= int(ready)
    except broker.BrokerUnavailable:
        return False


def _take_hints(
    connection: BaseDatabaseWrapper, channel: Channel, condition: str, params: Sequence[float]
) -> list[int]:
    """Stamp ``hinted_at`` on a bounded number of due rows; two sweeps at once take different ones."""
    now = now_sql(connection)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            WITH forgotten AS MATERIALIZED (
                SELECT id FROM {DELIVERY} WHERE channel = %s AND state = 'pending' AND due_at <= {now}
                    AND {condition} AND NOT EXISTS (
                        SELECT 1 FROM {CONTROL} c WHERE c.channel = {DELIVERY}.channel
                            AND c.paused AND (c.probe_at IS NULL OR c.probe_at > {now}))
                ORDER BY expires_at, id LIMIT %s {lock_sql(connection, "skip")}
            )
            UPDATE {DELIVERY} SET hinted_at = {now}
            WHERE id IN (SELECT id FROM forgotten) RETURNING id
            """,
            [channel.value, *params, get_settings().sweep_limit],
        )
        return [row_id for (row_id,) in cursor.fetchall()]


def _observed(alias: str) -> Swept:
    connection = connections[alias]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*), COALESCE(SUM(CASE authority WHEN 'pipeline' THEN 1 ELSE 0 END), 0) "
            f"FROM {DELIVERY} WHERE state IN ('leased', 'submitting') "
            f"AND lease_expires_at < {now_sql(connection)}",
            [],
        )
        abandoned, ours = cursor.fetchone()
    if ours:
        # Nobody waits for a shadow, and a verification strands some on purpose.
        log.warning("sweep_would_put_back", count=int(ours))
    return Swept(put_back=abandoned)
