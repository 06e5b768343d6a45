"""Receipts that were stored before their submission settled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db.backends.utils import CursorWrapper

from notifications.outcome import Reason
from resetdelivery.claims.sql import ATTEMPT, marks
from resetdelivery.domain.receipts import EarlyReceipts

NONE = EarlyReceipts()


def early_receipts(cursor: CursorWrapper, deliveries: Sequence[int]) -> Mapping[int, EarlyReceipts]:
    """By delivery id, for those of ``deliveries`` (their intents locked) that a receipt speaks of."""
    ids = sorted(set(deliveries))
    cursor.execute(
        f"""
        SELECT delivery_id, receipt, receipt_reason, number = (
            SELECT max(number) FROM {ATTEMPT} a WHERE a.delivery_id = {ATTEMPT}.delivery_id)
        FROM {ATTEMPT} WHERE delivery_id IN ({marks(ids)}) AND receipt IN ('delivered', 'failed')
        """,
        ids,
    )
    found: dict[int, EarlyReceipts] = {}
    for delivery, receipt, reason, newest in cursor.fetchall():
        told = found.get(delivery, NONE)
        failed = receipt == "failed" and newest
        found[delivery] = EarlyReceipts(
            delivered=told.delivered or receipt == "delivered",
            failure=Reason(reason) if failed else told.failure,
        )
    return found
