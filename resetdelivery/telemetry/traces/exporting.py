"""Export the traces of closed intents, each once if all goes well, and again if it does not.

A run that is killed between the export and writing it down exports the same spans again: their ids
come out the same. No transaction and no lock is held while the collector is asked.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connections, router, transaction
from django.db.backends.utils import CursorWrapper

from resetdelivery.claims.sql import ATTEMPT, DELIVERY, INTENT, lock_sql, marks
from resetdelivery.clock import now_sql
from resetdelivery.conf import get_settings
from resetdelivery.domain.spans import Span, SpanRef, spans_of
from resetdelivery.domain.trace_sampling import sampled
from resetdelivery.domain.traced import TracedIntent
from resetdelivery.models import ResetIntent
from resetdelivery.telemetry.traces.collector import collector
from resetdelivery.telemetry.traces.rows import Untraced, untraced
from resetdelivery.telemetry.traces.switch import is_on

#: Intents read, exported and written down at once: some 500 spans, or 100 kB.
BATCH = 100
#: A run that has more to do leaves it to the next one after this long.
RUN_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """How many traces were exported, how many were left out as the share of successes was taken.

    ``refused``: the exporter did not take them. They stay where they are for the next run.
    """

    traces: int = 0
    left_out: int = 0
    refused: bool = False


def export_closed(*, using: str | None = None) -> Exported:
    """Export the traces of intents that closed; nothing at all while traces are off.

    An exporter that is away raises nothing, and is left alone for half a minute each time.
    """
    if not is_on():
        return Exported()
    alias = using or router.db_for_write(ResetIntent)
    stop_at = time.monotonic() + RUN_SECONDS
    traces = left_out = 0
    while True:
        batch = _export_some(alias)
        traces += batch.traces
        left_out += batch.left_out
        is_last = batch.traces + batch.left_out < BATCH
        if batch.refused or is_last or time.monotonic() > stop_at:
            return Exported(traces=traces, left_out=left_out, refused=batch.refused)


def export_again(cursor: CursorWrapper, intents: Sequence[int]) -> None:
    """Have the traces of ``intents`` (locked by the caller) exported anew: they turned out otherwise.

    A success that was left out turned rare then, and one that was exported gets a span more.
    """
    cursor.execute(
        f"UPDATE {INTENT} SET traced_at = NULL WHERE id IN ({marks(intents)}) AND traced_at IS NOT NULL",
        list(intents),
    )


def _export_some(alias: str) -> Exported:
    found = untraced(limit=BATCH, using=alias)
    traces = [spans for spans in map(_kept_spans, found.intents.values()) if spans]
    if traces and not collector().send([span for spans in traces for span in spans]):
        return Exported(refused=True)
    if found.intents:
        _write_down(alias, found)
    return Exported(traces=len(traces), left_out=len(found.intents) - len(traces))


def _kept_spans(intent: TracedIntent) -> tuple[Span, ...]:
    root = SpanRef.of(intent.traceparent)
    kept = root and sampled(
        intent, root.trace_id, successes_per_mille=get_settings().trace_successes_per_mille
    )
    return spans_of(intent, kept) if kept else ()


def _write_down(alias: str, found: Untraced) -> None:
    """Mark as traced what did not change since it was read; what did, comes again.

    Whatever somebody holds is passed over, for it may be about to change: it comes again, too.
    """
    connection = connections[alias]
    ids = list(found.intents)
    with transaction.atomic(using=alias), connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id FROM {INTENT} WHERE id IN ({marks(ids)}) ORDER BY id {lock_sql(connection, 'skip')}",
            ids,
        )
        free = [row_id for (row_id,) in cursor.fetchall()]
        # A statement of its own: only this one sees what was committed before the locks were had.
        cursor.execute(
            f"""
            UPDATE {INTENT} SET traced_at = {now_sql(connection)}
            WHERE id IN ({marks(free)}) AND traced_at IS NULL AND NOT EXISTS (
                SELECT 1 FROM {DELIVERY} d JOIN {ATTEMPT} a ON a.delivery_id = d.id
                WHERE d.intent_id = {INTENT}.id AND a.receipt = 'failed' AND a.receipt_at >= %s)
            """,
            [*free, connection.ops.adapt_datetimefield_value(found.read_at)],
        )
