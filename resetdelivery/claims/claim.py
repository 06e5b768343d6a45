"""Take a few due deliveries under one lease."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from notifications.channels import Channel
from resetdelivery.claims import circuits, control
from resetdelivery.claims.sql import ATTEMPT, DELIVERY, INTENT, lock_sql, marks
from resetdelivery.clock import after_sql, as_datetime, database_now, now_sql
from resetdelivery.domain.external import PREFIX
from resetdelivery.domain.failover import Lineup, binds, claimable
from resetdelivery.domain.states import Authority, IntentKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A delivery under our lease, with what the gate and the message need of its intent.

    ``claimed_at`` is the database's time of the claim; ``attempt_rows`` how many attempts are
    recorded, ``attempts`` how many of them count, ``ambiguous_attempts`` how many of them the
    provider may have taken, ``may_have_it`` the provider that the newest of these went to.
    ``probe``: it was let through alone, to see whether the channel or a provider works.
    """

    id: int
    token: int
    reference: uuid.UUID
    intent_id: int
    intent_reference: uuid.UUID
    kind: IntentKind
    channel: Channel
    authority: Authority
    account_ref: str = field(repr=False)
    account_digest: str = field(repr=False)
    template_version: str
    locale: str
    requested_at: dt.datetime
    due_at: dt.datetime
    expires_at: dt.datetime
    cancel_reason: str
    suppressed: str
    claims: int
    attempts: int
    attempt_rows: int
    ambiguous_attempts: int
    claimed_at: dt.datetime
    lease_expires_at: dt.datetime
    probe: bool = False
    may_have_it: str = ""


def claim(
    channel: Channel,
    *,
    ids: Collection[int] = (),
    limit: int,
    lease_seconds: float,
    useful_floor_seconds: float,
    fill_after_seconds: float,
    probe_after_seconds: float | None,
    owner: str,
    using: str,
    lineup: Lineup | None = None,
    sender: str = "",
) -> list[Claimed]:
    """Lease up to ``limit`` due deliveries of ``channel``, soonest expiry first.

    First those named by ``ids``, then rows that nobody was told of or that have been due for
    ``fill_after_seconds``. Rows that can no longer help are left to be expired; a paused channel
    gives nothing, one that is being probed gives one row, of ours; one as well where all providers of
    ``lineup`` rest. ``sender`` names the external workers that claim: they get no probe, so no
    ``probe_after_seconds`` either, and no row that only another provider may send again.
    """
    connection = connections[using]
    with transaction.atomic(using=using), connection.cursor() as cursor:
        most = limit if lineup is None else _within_circuits(connection, cursor, channel, limit, lineup)
        if most == 0:
            return []
        ready = _ready(connection, channel, sender, useful_floor_seconds)
        allowed = control.claimable(connection, cursor, channel, most, probe_after_seconds, ready)
        if allowed.limit == 0:
            return []
        taken = _take(
            connection,
            cursor,
            replace(ready, sql=ready.sql + control.ASKS) if allowed.probe else ready,
            sorted(set(ids))[:limit],
            allowed.limit,
            (fill_after_seconds, lease_seconds),
            owner,
        )
        return reload(cursor, taken, probe=allowed.probe or most < limit)


def _within_circuits(
    connection: BaseDatabaseWrapper, cursor: CursorWrapper, channel: Channel, limit: int, lineup: Lineup
) -> int:
    known = circuits.read(cursor, channel)
    if all(circuit.is_closed for circuit in known.values()):
        return limit
    return claimable(lineup.order, known, limit, now=database_now(connection))


_Taken = dict[int, dt.datetime]


def _take(
    connection: BaseDatabaseWrapper,
    cursor: CursorWrapper,
    ready: control.Ready,
    ids: Sequence[int],
    limit: int,
    seconds: tuple[float, float],
    owner: str,
) -> _Taken:
    """The one claiming statement: ids taken, and when."""
    fill_after, lease = seconds
    now, after, lock = now_sql(connection), after_sql(connection), lock_sql(connection, "skip")
    # MATERIALIZED: the planner may run a plain LIMIT subquery twice and take more rows than that.
    cursor.execute(
        f"""
        WITH named AS MATERIALIZED (
            SELECT id FROM {DELIVERY} WHERE {ready.sql} AND id IN ({marks(ids)})
            ORDER BY expires_at, id LIMIT %s {lock}
        ), filled AS MATERIALIZED (
            SELECT id FROM {DELIVERY} WHERE {ready.sql} AND (hinted_at IS NULL OR due_at <= {after})
                AND id NOT IN (SELECT id FROM named)
            ORDER BY expires_at, id LIMIT %s - (SELECT count(*) FROM named) {lock}
        )
        UPDATE {DELIVERY} SET state = 'leased', lease_owner = %s, lease_token = lease_token + 1,
            claims = claims + 1, lease_expires_at = {after}
        WHERE id IN (SELECT id FROM named UNION ALL SELECT id FROM filled)
        RETURNING id, {now}
        """,
        [
            *(*ready.params, *ids, limit),
            *(*ready.params, -fill_after, limit),
            *(owner, lease),
        ],
    )
    return {row_id: as_datetime(moment) for row_id, moment in cursor.fetchall()}


def _ready(
    connection: BaseDatabaseWrapper, channel: Channel, sender: str, useful_floor_seconds: float
) -> control.Ready:
    may_send, who = _may_send(channel, sender)
    now, after = now_sql(connection), after_sql(connection)
    return control.Ready(
        # The state is a literal, or the planner would not use the partial index.
        sql=f"channel = %s AND state = 'pending' AND due_at <= {now} AND expires_at >= {after}{may_send}",
        params=(channel.value, useful_floor_seconds, *who),
    )


def _may_send(channel: Channel, sender: str) -> tuple[str, Sequence[str]]:
    """A condition that leaves out what is bound to a provider across the boundary; its parameters.

    A provider of ours that is configured no more leaves nothing out: the plan ends such a row.
    """
    if not binds(channel):
        return "", []
    may_have_it = f"COALESCE({_may_have_it_sql(DELIVERY)}, '')"
    if sender:
        return f" AND {may_have_it} IN ('', %s)", [sender]
    return f" AND {may_have_it} NOT LIKE %s", [PREFIX + "%"]


def _may_have_it_sql(delivery: str) -> str:
    """SQL for the provider of the newest ambiguous attempt of a row of ``delivery``; null if none."""
    return (
        f"(SELECT a.transport FROM {ATTEMPT} a WHERE a.delivery_id = {delivery}.id "
        "AND a.outcome = 'ambiguous' ORDER BY a.number DESC LIMIT 1)"
    )


def reload(cursor: CursorWrapper, taken: Mapping[int, dt.datetime], *, probe: bool = False) -> list[Claimed]:
    """Everything about the rows ``taken``, by id and time of the claim; soonest expiry first.

    A row that nobody holds any more comes with a lease that ended as it was claimed.
    """
    if not taken:
        return []
    ids = sorted(taken)
    cursor.execute(
        f"""
        SELECT d.id, d.lease_token, d.reference, i.id, i.reference, d.channel, d.authority,
            i.account_ref, i.account_digest, i.template_version, i.locale, i.created_at,
            d.due_at, d.expires_at, i.cancel_reason, d.attempts,
            (SELECT count(*) FROM {ATTEMPT} a WHERE a.delivery_id = d.id),
            (SELECT count(*) FROM {ATTEMPT} a WHERE a.delivery_id = d.id AND a.outcome = 'ambiguous'),
            d.lease_expires_at, d.claims, {_may_have_it_sql("d")}, i.kind, d.suppressed
        FROM {DELIVERY} d JOIN {INTENT} i ON i.id = d.intent_id
        WHERE d.id IN ({marks(ids)}) ORDER BY d.expires_at, d.id
        """,
        ids,
    )
    return [_claimed(row, taken[row[0]], probe) for row in cursor.fetchall()]


def _claimed(row: Sequence[Any], claimed_at: dt.datetime, probe: bool) -> Claimed:
    return Claimed(
        id=row[0],
        token=row[1],
        reference=_uuid(row[2]),
        intent_id=row[3],
        intent_reference=_uuid(row[4]),
        kind=IntentKind(row[21]),
        channel=Channel(row[5]),
        authority=Authority(row[6]),
        account_ref=row[7],
        account_digest=row[8],
        template_version=row[9],
        locale=row[10],
        requested_at=as_datetime(row[11]),
        due_at=as_datetime(row[12]),
        expires_at=as_datetime(row[13]),
        cancel_reason=row[14],
        suppressed=row[22],
        attempts=row[15],
        attempt_rows=row[16],
        ambiguous_attempts=row[17],
        lease_expires_at=claimed_at if row[18] is None else as_datetime(row[18]),
        claims=row[19],
        may_have_it=row[20] or "",
        claimed_at=claimed_at,
        probe=probe,
    )


def _uuid(value: uuid.UUID | str) -> uuid.UUID:
    return value if isinstance(value, uuid.UUID) else uuid.UUID(value)
