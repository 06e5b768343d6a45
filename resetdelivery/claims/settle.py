"""Write down what one wave's submissions came to."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from notifications.outcome import Outcome, OutcomeKind
from resetdelivery.claims import control
from resetdelivery.claims.attempts import record_outcomes
from resetdelivery.claims.early import NONE, early_receipts
from resetdelivery.claims.follow import move_on
from resetdelivery.claims.mark import Marked
from resetdelivery.claims.prospects import prospects_after
from resetdelivery.claims.sql import lock_intents
from resetdelivery.claims.steps import Step, apply_steps
from resetdelivery.domain.decisions import Decision, Submission, decide, within_claims
from resetdelivery.domain.external import decide_external
from resetdelivery.domain.failover import Lineup, Prospect, decide_ahead
from resetdelivery.domain.receipts import with_receipts
from resetdelivery.domain.retry import RetryPolicy
from resetdelivery.domain.states import DeliveryState


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One submission's outcome; ``finished_at`` is on the database's clock."""

    marked: Marked
    outcome: Outcome
    finished_at: dt.datetime
    duration_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What became of a result; ``fenced_out`` if another holder, or nobody, had the row by then."""

    result: Result
    decision: Decision
    fenced_out: bool


def settle(
    results: Sequence[Result],
    *,
    policy: RetryPolicy,
    draw: Callable[[], float],
    max_claims: int,
    probe_after_seconds: float,
    using: str,
    lineup: Lineup | None = None,
    external: bool = False,
) -> list[Settled]:
    """Decide and write a wave's outcomes in a constant number of statements.

    A row that is no longer ours (id, token, SUBMITTING) is left alone; only its attempt learns,
    as ``late_outcome``, what we saw. With a ``lineup`` the providers' circuits learn from it, too.
    ``external``: a worker outside saw it, so it neither pauses the channel nor ends its probe.
    """
    if not results:
        return []
    connection = connections[using]
    with transaction.atomic(using=using), connection.cursor() as cursor:
        intents = [result.marked.claimed.intent_id for result in results]
        cancels = lock_intents(connection, cursor, intents)
        prospects = prospects_after(connection, cursor, results, lineup)
        decisions = [
            within_claims(
                _decision(result, cancels, policy, draw(), ahead, external),
                claims=result.marked.claimed.claims,
                max_claims=max_claims,
            )
            for result, ahead in zip(results, prospects, strict=True)
        ]
        decisions = _after_receipts(cursor, results, decisions)
        if not external:
            _steer_channel(connection, cursor, results, decisions, probe_after_seconds)
        steps = [_step(result, decision) for result, decision in zip(results, decisions, strict=True)]
        held = apply_steps(connection, cursor, steps, held_in=DeliveryState.SUBMITTING)
        settled = [
            Settled(result=result, decision=decision, fenced_out=result.marked.claimed.id not in held)
            for result, decision in zip(results, decisions, strict=True)
        ]
        record_outcomes(connection, cursor, settled)
        move_on(connection, cursor, intents)
    return settled


def _decision(
    result: Result,
    cancels: dict[int, str],
    policy: RetryPolicy,
    draw: float,
    ahead: Prospect | None,
    external: bool,
) -> Decision:
    claimed = result.marked.claimed
    submission = Submission(
        attempts=claimed.attempts + 1,
        ambiguous_attempts=claimed.ambiguous_attempts + _is_ambiguous(result),
        expires_at=claimed.expires_at,
        cancel_reason=cancels.get(claimed.intent_id, ""),
    )
    now = result.finished_at
    if external:
        tries = claimed.attempt_rows + 1
        return decide_external(result.outcome, submission, policy, tries=tries, now=now, draw=draw)
    if ahead is None:
        return decide(result.outcome, submission, policy, now=now, draw=draw)
    return decide_ahead(result.outcome, submission, policy, now=now, draw=draw, ahead=ahead)


def _after_receipts(
    cursor: CursorWrapper, results: Sequence[Result], decisions: Sequence[Decision]
) -> list[Decision]:
    """The decisions with what the provider told us while we were still waiting for its answer."""
    ids = [result.marked.claimed.id for result in results]
    early = early_receipts(cursor, ids)
    return [with_receipts(one, early.get(i, NONE)) for i, one in zip(ids, decisions, strict=True)]


def _is_ambiguous(result: Result) -> bool:
    return result.outcome.kind is OutcomeKind.AMBIGUOUS


def _steer_channel(
    connection: BaseDatabaseWrapper,
    cursor: CursorWrapper,
    results: Sequence[Result],
    decisions: Sequence[Decision],
    probe_after_seconds: float,
) -> None:
    channel = results[0].marked.claimed.channel
    if any(decision.pauses_channel for decision in decisions):
        control.pause_misconfigured(connection, cursor, channel, probe_after_seconds)
    else:
        control.probe_passed(cursor, channel)


def _step(result: Result, decision: Decision) -> Step:
    claimed = result.marked.claimed
    return Step(
        id=claimed.id,
        token=claimed.token,
        state=decision.state,
        outcome=shown_outcome(_latest(result, decision), claimed.ambiguous_attempts > 0),
        reason=decision.reason,
        due_at=decision.due_at,
        gives_back=not decision.counts,
    )


def _latest(result: Result, decision: Decision) -> OutcomeKind:
    """What arrived was accepted, whatever the provider's answer to us was."""
    delivered = decision.state is DeliveryState.DELIVERED
    return OutcomeKind.ACCEPTED if delivered else result.outcome.kind


def shown_outcome(latest: OutcomeKind, was_ambiguous: bool) -> str:
    """The outcome a delivery shows: once a provider may have it, only an acceptance says more."""
    if was_ambiguous and latest is not OutcomeKind.ACCEPTED:
        return OutcomeKind.AMBIGUOUS.value
    return latest.value
