"""Delete rows that stand alone, by their age."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.db.backends.utils import CursorWrapper

from resetdelivery.claims.sql import INTENT, marks
from resetdelivery.domain.limits import DAY
from resetdelivery.models import AuditEntry, EventMinute, IdempotencyKey, LimitUse, OutcomeMinute
from resetdelivery.retention.rounds import Round, Take, Walk, walk, walk_by_id

AUDIT = AuditEntry._meta.db_table
KEY = IdempotencyKey._meta.db_table


def idempotency_keys(round_: Round) -> Iterator[int]:
    """Keys whose replay window is over; never while their intent is open."""
    closed = f" AND EXISTS (SELECT 1 FROM {INTENT} i WHERE i.id = intent_id AND i.state = 'closed')"
    before = round_.before(round_.settings.keep_idempotency_keys)
    return walk_by_id(round_, KEY, "created_at", before, _deleting(KEY, closed))


def limit_uses(round_: Round) -> Iterator[int]:
    """Uses that no window holds any more."""
    table = LimitUse._meta.db_table
    return walk_by_id(round_, table, "used_at", round_.before(DAY), _deleting(table))


def outcome_minutes(round_: Round) -> Iterator[int]:
    """History of attempts; its counts are in the totals."""
    return _minutes(round_, OutcomeMinute._meta.db_table)


def event_minutes(round_: Round) -> Iterator[int]:
    """History of events; its counts are in the totals."""
    return _minutes(round_, EventMinute._meta.db_table)


def audit_entries(round_: Round) -> Iterator[int]:
    """What operators did, for a role that may delete that: workers may not, nor rewrite it."""
    if not _may_delete(round_, AUDIT):
        return iter(())
    before = round_.before(round_.settings.keep_audit_entries)
    return walk_by_id(round_, AUDIT, "at", before, _deleting(AUDIT))


def _minutes(round_: Round, table: str) -> Iterator[int]:
    before = round_.counted(round_.settings.keep_minutes)
    return walk(round_, Walk(table=table, by="minute", before=before), _deleting(table))


def _deleting(table: str, condition: str = "") -> Take:
    def take(cursor: CursorWrapper, ids: Sequence[int]) -> int:
        cursor.execute(f"DELETE FROM {table} WHERE id IN ({marks(ids)}){condition}", list(ids))
        return int(cursor.rowcount)

    return take


def _may_delete(round_: Round, table: str) -> bool:
    if round_.connection.vendor != "postgresql":
        return True
    with round_.connection.cursor() as cursor:
        cursor.execute("SELECT has_table_privilege(%s, 'DELETE')", [table])
        return bool(cursor.fetchone()[0])
