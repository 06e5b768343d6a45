"""One round over everything that the policy ends, step by step."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from django.db import connections, router

from resetdelivery.claims.sql import ATTEMPT, INTENT
from resetdelivery.domain.retention import PurgeStep
from resetdelivery.exceptions import StepFailed, without_text
from resetdelivery.logs import get_logger
from resetdelivery.models import ResetIntent
from resetdelivery.retention import leftovers, scrub, trails
from resetdelivery.retention.rounds import Round, begin

log = get_logger("resetdelivery.retention")

#: Is told each batch's step and rows.
Progress = Callable[[PurgeStep, int], None]

#: Batches after which a step leaves the rest to the next round.
BATCHES = 100

STEPS: Mapping[PurgeStep, Callable[[Round], Iterator[int]]] = {
    PurgeStep.ACCOUNT_REFS: scrub.account_refs,
    PurgeStep.SHADOW_REFS: scrub.shadow_refs,
    PurgeStep.PROVIDER_REFERENCES: scrub.provider_references,
    PurgeStep.IDEMPOTENCY_KEYS: leftovers.idempotency_keys,
    PurgeStep.DECOYS: trails.decoys,
    PurgeStep.ATTEMPTS: trails.attempts,
    PurgeStep.INTENTS: trails.intents,
    PurgeStep.LIMIT_USES: leftovers.limit_uses,
    PurgeStep.OUTCOME_MINUTES: leftovers.outcome_minutes,
    PurgeStep.EVENT_MINUTES: leftovers.event_minutes,
    PurgeStep.AUDIT_ENTRIES: leftovers.audit_entries,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """Rows scrubbed or deleted in each step.

    ``waits_for_rollup``: some rows are old enough, and stay until they are counted.
    """

    rows: Mapping[PurgeStep, int]
    waits_for_rollup: bool = False


def purge(
    *,
    using: str | None = None,
    limit: int | None = None,
    progress: Progress | None = None,
) -> Purged:
    """Scrub and delete what the policy ends, in short transactions that wait for nobody.

    A step begins no further batch once it took ``limit`` rows; by default, a hundred full batches. What
    is left is for the next round, which may be at the same moment: rows are never taken twice.
    What is not counted yet stays:
    :func:`resetdelivery.telemetry.rollup.roll_up` comes first.

    An error ends its own step only. :class:`~resetdelivery.exceptions.StepFailed`, of the first one,
    after all others were tried.
    """
    alias = using or router.db_for_write(ResetIntent)
    round_ = without_text(begin, connections[alias])
    most = round_.settings.purge_batch * BATCHES if limit is None else limit
    failure: StepFailed | None = None
    rows: dict[PurgeStep, int] = {}
    for step, run in STEPS.items():
        try:
            rows[step] = _run(step, run(round_), most, progress)
        except Exception as error:
            failure = failure or StepFailed(error)
            log.error("purge_step_failed", step=step.value, error_class=type(error).__name__)
    purged = Purged(rows=rows, waits_for_rollup=without_text(_waits, round_))
    _tell(purged)
    if failure:
        raise failure
    return purged


def _run(step: PurgeStep, batches: Iterator[int], most: int, progress: Progress | None) -> int:
    total = 0
    while total < most:
        taken = next(batches, None)
        if taken is None:
            break
        total += taken
        if progress and taken:
            progress(step, taken)
    return total


def _waits(round_: Round) -> bool:
    """Whether something is old enough that is not in the totals yet."""
    return any(
        _any_between(round_, table, by, round_.before(keep))
        for table, by, keep in (
            (INTENT, "created_at", round_.settings.keep_intents),
            (ATTEMPT, "started_at", round_.settings.keep_attempts),
        )
        if round_.counted(keep) < round_.before(keep)
    )


def _any_between(round_: Round, table: str, by: str, old: dt.datetime) -> bool:
    with round_.connection.cursor() as cursor:
        cursor.execute(
            f"SELECT 1 FROM {table} WHERE {by} >= %s AND {by} < %s LIMIT 1",
            round_.moments(round_.counted_before, old),
        )
        return cursor.fetchone() is not None


def _tell(purged: Purged) -> None:
    if purged.waits_for_rollup:
        log.warning("purge_waits_for_rollup")
    for step, count in purged.rows.items():
        if count:
            log.info("purged", step=step.value, count=count)
