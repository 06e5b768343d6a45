"""Write down what a provider said later, and let it move its delivery on.

Receipts come in any order, twice, early and long after the end: the last word by rank is kept on
the attempt that it names, and everything else follows from the rows.
"""

from __future__ import annotations

import enum
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connections, router, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from notifications.receipts.receipt import Receipt, ReceiptVerdict
from resetdelivery.claims.follow import move_on
from resetdelivery.claims.sql import ATTEMPT, DELIVERY, lock_intents, marks
from resetdelivery.clock import now_sql
from resetdelivery.domain.receipts import MOVED, outranked
from resetdelivery.models import Attempt
from resetdelivery.telemetry import counts
from resetdelivery.telemetry.traces import export_again


class RecordedReceipt(enum.StrEnum):
    """What became of a receipt; none of them is an error."""

    #: Kept on its attempt, and its delivery left where it was.
    STORED = "stored"
    #: Kept, and its delivery moved on.
    MOVED = "moved"
    #: The attempt holds this word, or a weightier one, already.
    STALE = "stale"
    #: It names no attempt of ours.
    UNKNOWN = "unknown"


def record(receipt: Receipt, *, using: str | None = None) -> RecordedReceipt:
    """Store ``receipt`` on its attempt and move the delivery where it should; safe to repeat.

    ``delivered`` for any attempt ends a PENDING, LEASED or ACCEPTED delivery, ``failed`` for the
    newest one an ACCEPTED delivery. While a submission runs it is only stored: the step that ends
    the submission applies it.
    """
    alias = using or router.db_for_write(Attempt)
    found = receipt.attempt_reference and _find(receipt.attempt_reference, alias)
    return _record(receipt, found, alias) if found else RecordedReceipt.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    attempt: int
    number: int
    delivery: int
    intent: int


def _record(receipt: Receipt, found: _Found, alias: str) -> RecordedReceipt:
    connection = connections[alias]
    with transaction.atomic(using=alias), connection.cursor() as cursor:
        # First, as everywhere: mark, settle and the sweep wait for us, or we for them.
        lock_intents(connection, cursor, [found.intent])
        if not _store(connection, cursor, found, receipt):
            return RecordedReceipt.STALE
        moved = _move(connection, cursor, found, receipt)
        if moved:
            move_on(connection, cursor, [found.intent])
        if moved and receipt.verdict is ReceiptVerdict.FAILED:
            export_again(cursor, [found.intent])
    return RecordedReceipt.MOVED if moved else RecordedReceipt.STORED


def _find(reference: uuid.UUID, alias: str) -> _Found | None:
    row = (
        Attempt.objects.using(alias)
        .filter(reference=reference)
        .values_list("pk", "number", "delivery_id", "delivery__intent_id")
        .first()
    )
    return row and _Found(attempt=row[0], number=row[1], delivery=row[2], intent=row[3])


def _store(connection: BaseDatabaseWrapper, cursor: CursorWrapper, found: _Found, receipt: Receipt) -> bool:
    if _write(connection, cursor, found, receipt, over=[""]):
        return True
    before = counts.told(connection, found.attempt)
    if not _write(connection, cursor, found, receipt, over=outranked(receipt.verdict)):
        return False
    counts.keep_told(connection, before)
    return True


def _write(
    connection: BaseDatabaseWrapper,
    cursor: CursorWrapper,
    found: _Found,
    receipt: Receipt,
    *,
    over: Sequence[str],
) -> bool:
    cursor.execute(
        f"UPDATE {ATTEMPT} SET receipt = %s, receipt_reason = %s, receipt_at = {now_sql(connection)} "
        f"WHERE id = %s AND receipt IN ({marks(over)})",
        [receipt.verdict.value, receipt.reason.value, found.attempt, *over],
    )
    return bool(cursor.rowcount)


def _move(connection: BaseDatabaseWrapper, cursor: CursorWrapper, found: _Found, receipt: Receipt) -> bool:
    """Move the delivery, if this receipt is one that does; whether it did."""
    if receipt.verdict is ReceiptVerdict.DELIVERED:
        return _deliver(connection, cursor, found, receipt)
    return receipt.verdict is ReceiptVerdict.FAILED and _fail(cursor, found, receipt)


def _deliver(connection: BaseDatabaseWrapper, cursor: CursorWrapper, found: _Found, receipt: Receipt) -> bool:
    # The lease goes, so that a holder's mark matches nothing. finished_at is when our own work on it
    # ended, which for an accepted one was before.
    cursor.execute(
        f"""
        UPDATE {DELIVERY} SET state = 'delivered', outcome = 'accepted', reason = %s,
            finished_at = COALESCE(finished_at, {now_sql(connection)}),
            lease_owner = '', lease_expires_at = NULL
        WHERE id = %s AND state IN ({_listed(ReceiptVerdict.DELIVERED)})
        """,
        [receipt.reason.value, found.delivery],
    )
    return bool(cursor.rowcount)


def _fail(cursor: CursorWrapper, found: _Found, receipt: Receipt) -> bool:
    cursor.execute(
        f"""
        UPDATE {DELIVERY} SET state = 'failed', reason = %s
        WHERE id = %s AND state IN ({_listed(ReceiptVerdict.FAILED)}) AND NOT EXISTS (
            SELECT 1 FROM {ATTEMPT} newer WHERE newer.delivery_id = {DELIVERY}.id AND newer.number > %s)
        """,
        [receipt.reason.value, found.delivery, found.number],
    )
    return bool(cursor.rowcount)


def _listed(verdict: ReceiptVerdict) -> str:
    return ", ".join(f"'{state.value}'" for state in sorted(MOVED[verdict]))
