"""What is kept no longer than it is of use: today the uses that limits count."""

from __future__ import annotations

from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper

from resetdelivery.claims.sql import lock_sql
from resetdelivery.clock import after_sql
from resetdelivery.domain.limits import DAY
from resetdelivery.logs import get_logger
from resetdelivery.models import LimitUse

log = get_logger("resetdelivery.retention")

#: Rows deleted by one statement.
BATCH = 1000
USE = LimitUse._meta.db_table


def purge_limit_uses(*, using: str | None = None, limit: int = 100 * BATCH) -> int:
    """Delete uses that are older than the longest window, ``limit`` at most; how many.

    In short statements, so that no admission waits for long; what is left is for the next run.
    """
    connection = connections[using or router.db_for_write(LimitUse)]
    total = 0
    while total < limit:
        size = min(BATCH, limit - total)
        deleted = _purge_oldest(connection, size)
        total += deleted
        if deleted < size:
            break
    if total:
        log.info("limit_uses_purged", count=total)
    return total


def _purge_oldest(connection: BaseDatabaseWrapper, size: int) -> int:
    """Of the ``size`` oldest rows, delete those that no window holds any more.

    By id, which rises with time: no index on the time alone has to be kept, and what is still
    counted is not read.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            WITH oldest AS MATERIALIZED (
                SELECT id, used_at FROM {USE} ORDER BY id LIMIT %s {lock_sql(connection, "skip")}
            )
            DELETE FROM {USE} WHERE id IN (
                SELECT id FROM oldest WHERE used_at <= {after_sql(connection)})
            RETURNING id
            """,
            [size, -DAY.total_seconds()],
        )
        return len(cursor.fetchall())
