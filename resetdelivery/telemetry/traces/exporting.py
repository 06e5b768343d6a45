"""Export the traces of closed intents, each once if all goes well, and again if it does not.

A run that is killed between the export and writing it down exports the same spans again: their ids
come out the same. No transaction and no lock is held while the collector is asked.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import connections, router, transaction
from django.db.backends.utils import CursorWrapper

from resetdelivery.claims.sql import ATTEMPT, DELIVERY, INTENT, lock_sql, marks
from resetdelivery.clock import now_sql
from resetdelivery.conf import get_settings
from resetdelivery.domain.spans import Span, SpanRef, spans_of
from resetdelivery.domain.trace_sampling import sampled
from resetdelivery.domain.traced import TracedIntent
from resetdelivery.logs import get_logger
from resetdelivery.models import ResetIntent
from resetdelivery.telemetry.traces.collector import collector
from resetdelivery.telemetry.traces.rows import untraced
from resetdelivery.telemetry.traces.switch import is_on

log = get_logger("resetdelivery.traces")

#: Intents read, exported and written down at once: some 500 spans, or 100 kB.
BATCH = 100
#: A run that has more to do leaves it to the next one after this long.
RUN_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """How many traces were exported, how many were left out as the share of successes was taken.

    ``lost`` ones cannot be made, or the exporter does not take them while it takes others.
    ``refused``: it took none. They stay where they are for the next run.
    """

    traces: int = 0
    left_out: int = 0
    lost: int = 0
    refused: bool = False


def export_closed(*, using: str | None = None) -> Exported:
    """Export the traces of intents that closed; nothing at all while traces are off.

    An exporter that is away raises nothing, and is left alone for half a minute each time.
    """
    if not is_on():
        return Exported()
    alias = using or router.db_for_write(ResetIntent)
    stop_at = time.monotonic() + RUN_SECONDS
    whole, last = Exported(), 0
    while True:
        # Past what this run read: what stays where it is must not be read for ever.
        intents = untraced(after=last, limit=BATCH, using=alias)
        batch = _export(intents, alias)
        whole = _sum(whole, batch)
        if batch.refused or len(intents) < BATCH or time.monotonic() > stop_at:
            return whole
        last = max(intents)


def export_again(cursor: CursorWrapper, intents: Sequence[int]) -> None:
    """Have the traces of ``intents`` (locked by the caller) exported anew: they turned out otherwise.

    A success that was left out turned rare then, and one that was exported gets a span more.
    """
    cursor.execute(
        f"UPDATE {INTENT} SET traced_at = NULL WHERE id IN ({marks(intents)}) AND traced_at IS NOT NULL",
        list(intents),
    )


def _sum(one: Exported, other: Exported) -> Exported:
    return Exported(
        traces=one.traces + other.traces,
        left_out=one.left_out + other.left_out,
        lost=one.lost + other.lost,
        refused=one.refused or other.refused,
    )


def _export(intents: Mapping[int, TracedIntent], alias: str) -> Exported:
    made = {pk: _kept_spans(intent) for pk, intent in intents.items()}
    traces = {pk: spans for pk, spans in made.items() if spans}
    answers = collector().send_traces(traces) if traces else {}
    done = [pk for pk in intents if pk in answers or pk not in traces]
    if done:
        _write_down(alias, {pk: intents[pk] for pk in done})
    broken = sum(spans is None for spans in made.values())
    taken = sum(answers.values())
    return Exported(
        traces=taken,
        left_out=len(intents) - len(traces) - broken,
        lost=broken + len(answers) - taken,
        refused=bool(traces) and not answers,
    )


def _kept_spans(intent: TracedIntent) -> tuple[Span, ...] | None:
    """None at all if it is left out; ``None`` if they cannot be made, now or ever."""
    try:
        root = SpanRef.of(intent.traceparent)
        kept = root and sampled(
            intent, root.trace_id, successes_per_mille=get_settings().trace_successes_per_mille
        )
        return spans_of(intent, kept) if kept else ()
    except Exception as error:
        log.warning("trace_failed", error_class=type(error).__name__)
        return None


def _write_down(alias: str, intents: Mapping[int, TracedIntent]) -> None:
    """Mark as traced what did not change since it was read; what did, comes again.

    Whatever somebody holds is passed over, for it may be about to change: it comes again, too.
    """
    connection = connections[alias]
    ids = list(intents)
    with transaction.atomic(using=alias), connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id FROM {INTENT} WHERE id IN ({marks(ids)}) ORDER BY id {lock_sql(connection, 'skip')}",
            ids,
        )
        free = [row_id for (row_id,) in cursor.fetchall()]
        # A statement of its own: only this one sees what was committed before the locks were had.
        failed = _failed_receipts(cursor, free)
        same = [pk for pk in free if failed.get(pk, 0) <= _failed_as_read(intents[pk])]
        cursor.execute(
            f"UPDATE {INTENT} SET traced_at = {now_sql(connection)} "
            f"WHERE id IN ({marks(same)}) AND traced_at IS NULL",
            same,
        )


def _failed_receipts(cursor: CursorWrapper, intents: Sequence[int]) -> dict[int, int]:
    """How many receipts say now that it failed. Not from when: what came first may be committed later."""
    cursor.execute(
        f"""
        SELECT d.intent_id, COUNT(*) FROM {DELIVERY} d JOIN {ATTEMPT} a ON a.delivery_id = d.id
        WHERE d.intent_id IN ({marks(intents)}) AND a.receipt = 'failed' GROUP BY d.intent_id
        """,
        list(intents),
    )
    return dict(cursor.fetchall())


def _failed_as_read(intent: TracedIntent) -> int:
    return sum(attempt.receipt == "failed" for attempt in intent.attempts)
