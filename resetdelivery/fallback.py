"""Look at waiting channels whose time has come, or whose channel before them is paused.

Every other event arms them in its own transaction; this is the clock's share.
"""

from __future__ import annotations

from django.db import connections, router, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from resetdelivery.claims.follow import move_on
from resetdelivery.claims.sql import CONTROL, DELIVERY, lock_intents
from resetdelivery.clock import now_sql
from resetdelivery.models import Delivery

#: Waiting rows looked at in one transaction.
BATCH = 200


def arm_due(*, using: str | None = None) -> int:
    """Arm or end what waits and need not wait on, in batches; how many deliveries."""
    connection = connections[using or router.db_for_write(Delivery)]
    total = 0
    while moved := _move_some(connection):
        total += moved
    return total


def _move_some(connection: BaseDatabaseWrapper) -> int:
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        intents = _find(connection, cursor)
        if not intents:
            return 0
        lock_intents(connection, cursor, intents)
        return move_on(connection, cursor, intents)


def _find(connection: BaseDatabaseWrapper, cursor: CursorWrapper) -> list[int]:
    # Without locks: intents are locked before deliveries everywhere, and then looked at again.
    cursor.execute(
        f"SELECT intent_id FROM {DELIVERY} WHERE state = 'waiting' AND arm_at <= {now_sql(connection)} "
        f"ORDER BY arm_at LIMIT {BATCH}",
        [],
    )
    due = [intent for (intent,) in cursor.fetchall()]
    return due or _behind_a_pause(cursor)


def _behind_a_pause(cursor: CursorWrapper) -> list[int]:
    cursor.execute(f"SELECT count(*) FROM {CONTROL} WHERE paused", [])
    (paused,) = cursor.fetchone()
    if not paused:
        return []
    cursor.execute(
        f"""
        SELECT w.intent_id FROM {DELIVERY} w WHERE w.state = 'waiting' AND EXISTS (
            SELECT 1 FROM {DELIVERY} b JOIN {CONTROL} c ON c.channel = b.channel
            WHERE b.intent_id = w.intent_id AND b.position = w.position - 1
                AND b.state IN ('pending', 'leased') AND c.paused)
        ORDER BY w.arm_at LIMIT {BATCH}
        """,
        [],
    )
    return [intent for (intent,) in cursor.fetchall()]
