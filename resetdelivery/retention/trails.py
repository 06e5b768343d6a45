"""Delete intents, and before them the attempts of their deliveries: children first, no cascade.

Whatever adds to a trail (a settling wave, a receipt, the sweep) holds its intent's lock. So what is
to go is looked at once more under that lock: nothing goes that is not counted, however it raced.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.backends.utils import CursorWrapper

from resetdelivery.claims.sql import ATTEMPT, DELIVERY, INTENT, lock_sql, marks
from resetdelivery.models import IdempotencyKey
from resetdelivery.retention.policy import IS_DECOY
from resetdelivery.retention.rounds import Round, Take, Walk, walk
from resetdelivery.telemetry import counts

KEY = IdempotencyKey._meta.db_table

#: An attempt that runs, or of which something is not in the totals yet; its parameter three times.
_UNCOUNTED_ATTEMPT = "(a.outcome = '' OR a.started_at >= %s OR a.receipt_at >= %s OR a.late_at >= %s)"


def attempts(round_: Round) -> Iterator[int]:
    """All attempts of a delivery at once, by the newest of them.

    One by one, an older attempt could outlast a newer one, and its receipt would then count as the
    newest attempt's.
    """
    before = round_.counted(round_.settings.keep_attempts)
    # Without a lock: intents are locked before what belongs to them.
    found = Walk(table=ATTEMPT, by="started_at", before=before, lock=False)

    def take(cursor: CursorWrapper, ids: Sequence[int]) -> int:
        cursor.execute(
            f"SELECT id FROM {INTENT} WHERE state = 'closed' AND id IN (SELECT intent_id FROM {DELIVERY} "
            f"WHERE id IN (SELECT delivery_id FROM {ATTEMPT} WHERE id IN ({marks(ids)}))) "
            f"ORDER BY id {lock_sql(round_.connection, 'skip')}",
            list(ids),
        )
        closed = [row_id for (row_id,) in cursor.fetchall()]
        cursor.execute(
            f"DELETE FROM {ATTEMPT} WHERE delivery_id IN (SELECT d.id FROM {DELIVERY} d "
            f"WHERE d.intent_id IN ({marks(closed)}) AND NOT EXISTS (SELECT 1 FROM {ATTEMPT} a "
            f"WHERE a.delivery_id = d.id AND (a.started_at >= %s OR {_UNCOUNTED_ATTEMPT})))",
            [*closed, *round_.moments(before), *_counted_before(round_, 3)],
        )
        return int(cursor.rowcount)

    return walk(round_, found, take)


def intents(round_: Round) -> Iterator[int]:
    """Closed intents with all that belongs to them, unless a key leads to them still."""
    before = round_.counted(round_.settings.keep_intents)
    closed = "state = 'closed' AND closed_at < %s"
    found = Walk(table=INTENT, by="created_at", before=before, where=closed, params=round_.moments(before))
    return walk(round_, found, _forget(round_))


def decoys(round_: Round) -> Iterator[int]:
    """Intents that led to nobody, as soon as nothing can be asked about them.

    Nobody's are also those that a worker held while their account was forgotten, and those may have
    attempts, of minutes that are still reconciled with rows.
    """
    before = round_.counted(round_.settings.keep_decoys)
    closed = f"state = 'closed' AND scrubbed_at IS NULL AND {IS_DECOY}"
    forget = _forget(round_)

    def take(cursor: CursorWrapper, ids: Sequence[int]) -> int:
        counts.keep(round_.connection, _attempted(cursor, _done(round_, cursor, ids)), closed_too=True)
        return forget(cursor, ids)

    return walk(round_, Walk(table=INTENT, by="closed_at", before=before, where=closed), take)


def _attempted(cursor: CursorWrapper, intents: Sequence[int]) -> list[int]:
    """The deliveries of these intents that have attempts."""
    cursor.execute(
        f"SELECT d.id FROM {DELIVERY} d WHERE d.intent_id IN ({marks(intents)}) "
        f"AND EXISTS (SELECT 1 FROM {ATTEMPT} a WHERE a.delivery_id = d.id) ORDER BY d.id",
        list(intents),
    )
    return [row_id for (row_id,) in cursor.fetchall()]


def _forget(round_: Round) -> Take:
    def take(cursor: CursorWrapper, ids: Sequence[int]) -> int:
        done = _done(round_, cursor, ids)
        listed = marks(done)
        of_them = f"SELECT id FROM {DELIVERY} WHERE intent_id IN ({listed})"
        cursor.execute(f"DELETE FROM {ATTEMPT} WHERE delivery_id IN ({of_them})", done)
        cursor.execute(f"DELETE FROM {DELIVERY} WHERE intent_id IN ({listed})", done)
        cursor.execute(f"DELETE FROM {INTENT} WHERE id IN ({listed})", done)
        return int(cursor.rowcount)

    return take


def _done(round_: Round, cursor: CursorWrapper, ids: Sequence[int]) -> list[int]:
    """Those of the intents (locked by the caller) that are counted and that no key leads to."""
    cursor.execute(
        f"SELECT i.id FROM {INTENT} i WHERE i.id IN ({marks(ids)}) AND i.created_at < %s "
        f"AND NOT EXISTS (SELECT 1 FROM {KEY} k WHERE k.intent_id = i.id) "
        f"AND NOT EXISTS (SELECT 1 FROM {DELIVERY} d WHERE d.intent_id = i.id AND (d.finished_at IS NULL "
        f"OR d.finished_at >= %s OR EXISTS (SELECT 1 FROM {ATTEMPT} a WHERE a.delivery_id = d.id "
        f"AND {_UNCOUNTED_ATTEMPT})))",
        [*ids, *_counted_before(round_, 5)],
    )
    return [row_id for (row_id,) in cursor.fetchall()]


def _counted_before(round_: Round, times: int) -> list[Any]:
    return round_.moments(round_.counted_before) * times
