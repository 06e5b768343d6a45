"""Ask open intents to stop, and end what nobody holds."""

from __future__ import annotations

from django.db import connections, transaction

from resetdelivery.claims.follow import move_on
from resetdelivery.claims.sql import DELIVERY, INTENT, lock_sql, marks
from resetdelivery.clock import now_sql
from resetdelivery.domain.reasons import CancelReason

_IS_RESET = "kind = 'reset'"


def request_cancel(*, account_ref: str, reason: CancelReason, using: str) -> int:
    """Ask every open intent of the account to stop; how many were asked.

    WAITING and PENDING deliveries end here. One that a worker holds is ended by that worker or
    by the sweep: LEASED ones are not sent any more, SUBMITTING ones may just be on their way.
    """
    wanted = f"account_ref = %s AND cancel_requested_at IS NULL AND {_IS_RESET}"
    return _ask(wanted, account_ref, reason, using)


def request_full_stop(*, account_ref: str, using: str) -> int:
    """Withdraw every open intent of an account that is forgotten, notices too; how many were open.

    Those that were asked before keep their reason; what nobody holds of any of them ends here.
    """
    return _ask("account_ref = %s", account_ref, CancelReason.WITHDRAWN, using)


def request_intent_cancel(*, intent_id: int, reason: CancelReason, using: str) -> bool:
    """Ask one intent to stop, as :func:`request_cancel` does; whether anything of it could still happen.

    One that was asked before keeps its reason, and what nobody holds of it ends here all the same:
    whoever asks sees no difference between a request that a limit suppressed and any other.
    """
    return _ask(f"id = %s AND {_IS_RESET}", intent_id, reason, using) > 0


def _ask(condition: str, value: str | int, reason: CancelReason, using: str) -> int:
    connection = connections[using]
    with transaction.atomic(using=using), connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id FROM {INTENT} WHERE {condition} AND state = 'open' "
            f"ORDER BY id {lock_sql(connection, 'update')}",
            [value],
        )
        ids = [row_id for (row_id,) in cursor.fetchall()]
        # No shortcut where there are none: an admission takes as many statements whatever came before.
        now = now_sql(connection)
        cursor.execute(
            f"UPDATE {INTENT} SET cancel_requested_at = COALESCE(cancel_requested_at, {now}), "
            f"cancel_reason = CASE cancel_reason WHEN '' THEN %s ELSE cancel_reason END "
            f"WHERE id IN ({marks(ids)})",
            [reason.value, *ids],
        )
        cursor.execute(
            f"UPDATE {DELIVERY} SET state = 'cancelled', finished_at = {now}, "
            f"reason = (SELECT i.cancel_reason FROM {INTENT} i WHERE i.id = {DELIVERY}.intent_id) "
            f"WHERE intent_id IN ({marks(ids)}) AND state IN ('waiting', 'pending')",
            ids,
        )
        move_on(connection, cursor, ids)
    return len(ids)
