"""Record the attempts of one wave, right before the provider is asked."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from notifications.message import Message, SmsMessage
from notifications.sms.segmentation import segments_bucket
from resetdelivery.claims import control
from resetdelivery.claims.claim import Claimed
from resetdelivery.claims.sql import DELIVERY, INTENT, flat, lock_sql, marks, values_cte
from resetdelivery.clock import after_sql, as_datetime, now_sql
from resetdelivery.domain.external import PREFIX
from resetdelivery.models import Attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A claimed delivery that passed the gate, with its message and its attempt's name."""

    claimed: Claimed
    message: Message = field(repr=False)
    attempt_reference: uuid.UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """A delivery whose attempt is on record; ``started_at`` is the database's time of it.

    All that settling needs, so no message. ``transport`` is the provider it goes to, ``probe``
    whether that is to see if it is back, ``segments`` the bucket of a text message's length.
    """

    claimed: Claimed
    attempt_id: int
    attempt_reference: uuid.UUID
    started_at: dt.datetime
    transport: str = ""
    probe: bool = False
    segments: str = ""


def mark(
    wave: Sequence[Ready],
    *,
    send_budget_seconds: float,
    lease_margin_seconds: float,
    transport: str,
    worker: str,
    using: str,
    probe: bool = False,
) -> list[Marked]:
    """Those of ``wave`` that may be sent: LEASED → SUBMITTING, with an attempt row each.

    Left out is what lost its lease, expired, was asked to stop, or whose channel is paused.
    """
    if not wave:
        return []
    connection = connections[using]
    with transaction.atomic(using=using), connection.cursor() as cursor:
        wanted = _not_cancelled(connection, cursor, wave)
        if not wanted or control.holds(connection, cursor, wanted[0].claimed.channel):
            return []
        started = _submit_states(connection, cursor, wanted, send_budget_seconds + lease_margin_seconds)
        marked = [ready for ready in wanted if ready.claimed.id in started]
        rows = [_attempt(ready, started[ready.claimed.id], transport, worker) for ready in marked]
        Attempt.objects.using(using).bulk_create(rows)
    return [
        Marked(
            claimed=ready.claimed,
            attempt_id=row.pk,
            attempt_reference=row.reference,
            started_at=row.started_at,
            transport=transport,
            probe=probe,
            segments=segments_of(ready.message),
        )
        for ready, row in zip(marked, rows, strict=True)
    ]


def _not_cancelled(
    connection: BaseDatabaseWrapper, cursor: CursorWrapper, wave: Sequence[Ready]
) -> list[Ready]:
    """Lock the intents: a cancel that comes now waits until we are on record, or we see it."""
    ids = sorted({ready.claimed.intent_id for ready in wave})
    cursor.execute(
        f"SELECT id FROM {INTENT} WHERE id IN ({marks(ids)}) AND cancel_requested_at IS NULL "
        f"ORDER BY id {lock_sql(connection, 'share')}",
        ids,
    )
    live = {row[0] for row in cursor.fetchall()}
    return [ready for ready in wave if ready.claimed.intent_id in live]


def _submit_states(
    connection: BaseDatabaseWrapper, cursor: CursorWrapper, wave: Sequence[Ready], lease_seconds: float
) -> dict[int, dt.datetime]:
    now = now_sql(connection)
    # The first try's bucket stays: all tries are counted by it, some in minutes that are closed.
    rows = [(ready.claimed.id, ready.claimed.token, segments_of(ready.message)) for ready in wave]
    cursor.execute(
        f"""
        WITH {values_cte("held", ("held_id", "held_token", "held_segments"), rows)}
        UPDATE {DELIVERY} SET state = 'submitting', attempts = attempts + 1,
            segments_bucket = CASE WHEN segments_bucket = '' THEN held_segments ELSE segments_bucket END,
            lease_expires_at = {after_sql(connection)}
        FROM held WHERE id = held_id AND lease_token = held_token AND state = 'leased'
            AND authority = 'pipeline' AND lease_expires_at > {now} AND expires_at > {now}
        RETURNING id, {now}
        """,
        [*flat(connection, rows), lease_seconds],
    )
    return {row_id: as_datetime(moment) for row_id, moment in cursor.fetchall()}


def segments_of(message: Message) -> str:
    """What may be recorded of an SMS's length; empty for an email."""
    return segments_bucket(message.segments) if isinstance(message, SmsMessage) else ""


def _attempt(ready: Ready, started_at: dt.datetime, transport: str, worker: str) -> Attempt:
    claimed = ready.claimed
    claimed_at, lease_used = _use_of_lease(claimed, started_at, transport)
    return Attempt(
        delivery_id=claimed.id,
        number=claimed.attempt_rows + 1,
        reference=ready.attempt_reference,
        token=claimed.token,
        started_at=started_at,
        queue_delay_seconds=(started_at - claimed.due_at).total_seconds(),
        remaining_seconds=(claimed.expires_at - started_at).total_seconds(),
        claimed_at=claimed_at,
        lease_used=lease_used,
        transport=transport,
        worker=worker,
    )


def _use_of_lease(
    claimed: Claimed, started_at: dt.datetime, transport: str
) -> tuple[dt.datetime | None, float | None]:
    """When it was claimed, and the share of the lease that is gone; not known of a worker outside.

    That one was found again by its token, and may have had its lease renewed.
    """
    if transport.startswith(PREFIX):
        return None, None
    lease = claimed.lease_expires_at - claimed.claimed_at
    return claimed.claimed_at, (started_at - claimed.claimed_at) / lease if lease else None
