"""Ask open intents to stop, and end what nobody holds."""

from __future__ import annotations

from django.db import connections, transaction

from resetdelivery.claims.follow import move_on
from resetdelivery.claims.sql import DELIVERY, INTENT, lock_sql, marks
from resetdelivery.clock import now_sql
from resetdelivery.domain.reasons import CancelReason


def request_cancel(*, account_ref: str, reason: CancelReason, using: str) -> int:
    """Ask every open intent of the account to stop; how many were asked.

    WAITING and PENDING deliveries end here. One that a worker holds is ended by that worker or
    by the sweep: LEASED ones are not sent any more, SUBMITTING ones may just be on their way.
    """
    connection = connections[using]
    with transaction.atomic(using=using), connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id FROM {INTENT} WHERE account_ref = %s AND state = 'open' "
            f"AND cancel_requested_at IS NULL ORDER BY id {lock_sql(connection, 'update')}",
            [account_ref],
        )
        ids = [row_id for (row_id,) in cursor.fetchall()]
        if not ids:
            return 0
        now = now_sql(connection)
        cursor.execute(
            f"UPDATE {INTENT} SET cancel_requested_at = {now}, cancel_reason = %s WHERE id IN ({marks(ids)})",
            [reason.value, *ids],
        )
        cursor.execute(
            f"UPDATE {DELIVERY} SET state = 'cancelled', reason = %s, finished_at = {now} "
            f"WHERE intent_id IN ({marks(ids)}) AND state IN ('waiting', 'pending')",
            [reason.value, *ids],
        )
        move_on(connection, cursor, ids)
    return len(ids)
