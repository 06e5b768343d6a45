"""A channel's pause and probe, as the lease protocol sees them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from notifications.channels import Channel
from resetdelivery.claims.sql import CONTROL, DELIVERY, lock_sql
from resetdelivery.clock import after_sql, now_sql
from resetdelivery.domain.external import OWNERS
from resetdelivery.domain.states import Authority
from resetdelivery.models import ChannelControl

#: A condition on rows: a provider is asked for them. A shadow would show nothing.
ASKS = f" AND authority = '{Authority.PIPELINE}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """The condition on a channel's rows that may be claimed now, in SQL, and its parameters."""

    sql: str
    params: Sequence[str | float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """How many rows of a channel may be claimed now, and whether the one allowed is a probe."""

    limit: int
    probe: bool = False


def claimable(
    connection: BaseDatabaseWrapper,
    cursor: CursorWrapper,
    channel: Channel,
    limit: int,
    probe_after_seconds: float | None,
    ready: Ready,
) -> Allowance:
    """What may be claimed of the channel now: nothing while paused, one row while probed.

    Without ``probe_after_seconds`` nothing in both cases: the probe is somebody else's. Nor is there
    one without a row of ours among those that are ``ready``.
    """
    paused, probing, probe_due = _read(connection, cursor, channel)
    if not paused and not probing:
        return Allowance(limit=limit)
    if probe_after_seconds is None or (paused and not probe_due):
        return Allowance(limit=0)
    return Allowance(limit=_probe(connection, cursor, channel, probe_after_seconds, ready), probe=True)


def _read(
    connection: BaseDatabaseWrapper, cursor: CursorWrapper, channel: Channel
) -> tuple[bool, bool, bool]:
    cursor.execute(
        f"SELECT paused, probing, COALESCE(probe_at <= {now_sql(connection)}, false) "
        f"FROM {CONTROL} WHERE channel = %s",
        [channel.value],
    )
    row: tuple[Any, ...] | None = cursor.fetchone()
    if row is None:
        # The row must exist, for mark to have something to lock against a pause.
        ChannelControl.objects.using(connection.alias).get_or_create(channel=channel.value)
        return False, False, False
    return bool(row[0]), bool(row[1]), bool(row[2])


def _probe(
    connection: BaseDatabaseWrapper,
    cursor: CursorWrapper,
    channel: Channel,
    probe_after_seconds: float,
    ready: Ready,
) -> int:
    """Let one row through if nobody else's probe is under way, and there is one that asks a provider.

    What a worker outside holds is no probe: it goes to another provider.
    """
    lock = lock_sql(connection, "update")
    cursor.execute(f"SELECT paused FROM {CONTROL} WHERE channel = %s {lock}", [channel.value])
    cursor.execute(
        f"""
        UPDATE {CONTROL} SET paused = false, probing = true, probe_at = {after_sql(connection)}
        WHERE channel = %s AND (probing OR (paused AND probe_at <= {now_sql(connection)}))
            AND NOT EXISTS (
                SELECT 1 FROM {DELIVERY} d
                WHERE d.channel = {CONTROL}.channel AND d.state IN ('leased', 'submitting')
                    AND d.lease_owner NOT LIKE %s)
            AND EXISTS (SELECT 1 FROM {DELIVERY} WHERE {ready.sql}{ASKS})
        """,
        [probe_after_seconds, channel.value, OWNERS, *ready.params],
    )
    return int(cursor.rowcount)


def holds(connection: BaseDatabaseWrapper, cursor: CursorWrapper, channel: Channel) -> bool:
    """Whether the channel is paused; its row stays locked against a pause until the commit."""
    lock = lock_sql(connection, "share")
    cursor.execute(f"SELECT paused FROM {CONTROL} WHERE channel = %s {lock}", [channel.value])
    row: tuple[Any, ...] | None = cursor.fetchone()
    return bool(row and row[0])


def pause_misconfigured(
    connection: BaseDatabaseWrapper, cursor: CursorWrapper, channel: Channel, probe_after_seconds: float
) -> None:
    """Pause the channel until the next probe, unless an operator already paused it for good."""
    cursor.execute(
        f"""
        UPDATE {CONTROL} SET paused = true, probing = false, pause_reason = 'misconfigured',
            probe_at = {after_sql(connection)}
        WHERE channel = %s AND NOT (paused AND pause_reason = 'operator')
        """,
        [probe_after_seconds, channel.value],
    )


def probe_passed(cursor: CursorWrapper, channel: Channel) -> None:
    """Open the channel again after its probe went through."""
    cursor.execute(
        f"UPDATE {CONTROL} SET probing = false, pause_reason = '', probe_at = NULL "
        "WHERE channel = %s AND probing",
        [channel.value],
    )
