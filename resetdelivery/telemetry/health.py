"""How delivery is doing now: a few numbers for each channel, however much is stored."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connections, router

from notifications.channels import Channel
from resetdelivery.claims.sql import CONTROL, DELIVERY
from resetdelivery.clock import now_sql, seconds_between_sql
from resetdelivery.conf import get_settings
from resetdelivery.models import Delivery


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelHealth:
    """Deliveries of one channel that are not finished, by state.

    ``oldest_due_seconds`` is how long the one that has waited longest has been due; ``None`` where
    none is due.
    """

    channel: Channel
    paused: bool
    waiting: int
    pending: int
    leased: int
    submitting: int
    oldest_due_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Count:
    rows: int
    due_seconds: float


def channel_health(*, using: str | None = None) -> list[ChannelHealth]:
    """One entry for each configured channel, in the order of their names."""
    alias = using or router.db_for_read(Delivery)
    counts, paused = _counts(alias), _paused(alias)
    return [_of(channel, counts, paused) for channel in sorted(get_settings().channels)]


def _of(channel: Channel, counts: dict[tuple[str, str], _Count], paused: frozenset[str]) -> ChannelHealth:
    def rows(state: str) -> int:
        found = counts.get((channel, state))
        return found.rows if found else 0

    pending = counts.get((channel, "pending"))
    due = pending.due_seconds if pending else -1.0
    return ChannelHealth(
        channel=channel,
        paused=channel in paused,
        waiting=rows("waiting"),
        pending=rows("pending"),
        leased=rows("leased"),
        submitting=rows("submitting"),
        oldest_due_seconds=due if due >= 0 else None,
    )


def _counts(alias: str) -> dict[tuple[str, str], _Count]:
    """By channel and state. The states stand in the text: only so are the partial indexes used."""
    connection = connections[alias]
    age = seconds_between_sql(connection, earlier="MIN(due_at)", later=now_sql(connection))
    parts = [
        f"SELECT channel, state, COUNT(*), {age} FROM {DELIVERY} "
        f"WHERE state IN ({states}) GROUP BY channel, state"
        for states in ("'pending', 'waiting'", "'leased', 'submitting'")
    ]
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(parts), [])
        return {
            (channel, state): _Count(rows=rows, due_seconds=float(seconds))
            for channel, state, rows, seconds in cursor.fetchall()
        }


def _paused(alias: str) -> frozenset[str]:
    with connections[alias].cursor() as cursor:
        cursor.execute(f"SELECT channel FROM {CONTROL} WHERE paused")
        return frozenset(channel for (channel,) in cursor.fetchall())
