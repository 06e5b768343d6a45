"""The outcome columns of attempt rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from resetdelivery.claims.sql import ATTEMPT, Row, flat, values_cte
from resetdelivery.clock import now_sql

if TYPE_CHECKING:
    from resetdelivery.claims.settle import Settled


def record_outcomes(
    connection: BaseDatabaseWrapper, cursor: CursorWrapper, settled: Sequence[Settled]
) -> None:
    """Finish the attempts in one statement.

    An attempt that is still running takes the outcome; one that was already closed as ambiguous
    keeps that and takes ours as its late outcome, which counts for the moment at which we say it.
    """
    columns = ("got_id", "got_outcome", "got_reason", "got_at", "got_seconds", "got_reference")
    rows: list[Row] = [_row(one) for one in settled]
    cursor.execute(
        f"""
        WITH {values_cte("got", columns, rows)}
        UPDATE {ATTEMPT} SET
            outcome = CASE WHEN outcome = '' THEN got_outcome ELSE outcome END,
            late_outcome = CASE WHEN outcome = '' THEN late_outcome ELSE got_outcome END,
            late_at = CASE WHEN outcome = '' THEN late_at ELSE {now_sql(connection)} END,
            reason = CASE WHEN outcome = '' THEN got_reason ELSE reason END,
            finished_at = CASE WHEN outcome = '' THEN got_at ELSE finished_at END,
            duration_seconds = got_seconds, provider_reference = got_reference
        FROM got WHERE id = got_id
        """,
        flat(connection, rows),
    )


def _row(one: Settled) -> Row:
    result = one.result
    return (
        result.marked.attempt_id,
        result.outcome.kind.value,
        result.outcome.reason.value,
        result.finished_at,
        result.duration_seconds,
        result.outcome.provider_reference[:255],
    )
