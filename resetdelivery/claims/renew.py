"""Let a worker that sent nothing yet keep its lease for longer."""

from __future__ import annotations

import datetime as dt

from django.db import connections, transaction

from resetdelivery.claims.claim import Claimed
from resetdelivery.claims.sql import DELIVERY
from resetdelivery.clock import after_sql, as_datetime, now_sql


def renew(claimed: Claimed, *, lease_seconds: float, using: str) -> dt.datetime | None:
    """The lease's new end, or ``None`` if it is not ours any more, ran out, or a send began.

    Never before the old end, and never past the delivery's expiry, at which nobody may send. A row
    that is SUBMITTING keeps its lease: its send's deadline was fixed along with it.
    """
    connection = connections[using]
    now, after = now_sql(connection), after_sql(connection)
    with transaction.atomic(using=using), connection.cursor() as cursor:
        cursor.execute(
            f"""
            UPDATE {DELIVERY} SET lease_expires_at = CASE
                WHEN {after} <= lease_expires_at OR expires_at <= lease_expires_at THEN lease_expires_at
                WHEN {after} < expires_at THEN {after}
                ELSE expires_at END
            WHERE id = %s AND lease_token = %s AND state = 'leased' AND lease_expires_at > {now}
            RETURNING lease_expires_at
            """,
            [lease_seconds, lease_seconds, lease_seconds, claimed.id, claimed.token],
        )
        row = cursor.fetchone()
    return None if row is None else as_datetime(row[0])
