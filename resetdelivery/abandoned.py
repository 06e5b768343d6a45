"""Rows whose lease ran out: put them back, or end them.

LEASED was certainly not sent. SUBMITTING may have been: its attempt becomes ambiguous.
"""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from notifications.channels import Channel
from notifications.outcome import Outcome, OutcomeKind, Reason
from resetdelivery.claims.early import NONE, early_receipts
from resetdelivery.claims.follow import move_on
from resetdelivery.claims.sql import ATTEMPT, DELIVERY, flat, lock_intents, values_cte
from resetdelivery.claims.steps import Step, apply_steps
from resetdelivery.clock import as_datetime, database_now, now_sql
from resetdelivery.conf import Settings, get_settings
from resetdelivery.domain.decisions import Decision, Submission, decide, within_claims
from resetdelivery.domain.reasons import DeliveryReason
from resetdelivery.domain.receipts import EarlyReceipts, with_receipts
from resetdelivery.domain.retry import still_useful
from resetdelivery.domain.states import Authority, DeliveryState
from resetdelivery.domain.telemetry import CountedEvent
from resetdelivery.telemetry.counts import What, count_all

BATCH = 200
_draw = random.SystemRandom().random
_LOST = Outcome(kind=OutcomeKind.AMBIGUOUS, reason=Reason.LOST)


@dataclass(frozen=True, slots=True, kw_only=True)
class PutBack:
    """How many rows went back to PENDING, how many ended instead, and the ids of their intents."""

    put_back: int = 0
    ended: int = 0
    intents: frozenset[int] = frozenset()

    @property
    def rows(self) -> int:
        """All of them."""
        return self.put_back + self.ended

    def __add__(self, other: PutBack) -> PutBack:
        return PutBack(
            put_back=self.put_back + other.put_back,
            ended=self.ended + other.ended,
            intents=self.intents | other.intents,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Abandoned:
    id: int
    intent_id: int
    token: int
    state: DeliveryState
    channel: Channel
    authority: Authority
    due_at: dt.datetime
    expires_at: dt.datetime
    claims: int
    attempts: int
    ambiguous_attempts: int
    early: EarlyReceipts = NONE


def put_back_abandoned(*, using: str) -> PutBack:
    """Return or end every row whose lease ran out, in batches, until none is left."""
    total = PutBack()
    while True:
        some = _put_back_some(using)
        total += some
        if some.rows < BATCH:
            return total


def _put_back_some(using: str) -> PutBack:
    connection = connections[using]
    with transaction.atomic(using=using), connection.cursor() as cursor:
        found = _find(connection, cursor)
        if not found:
            return PutBack()
        intents = [row.intent_id for row in found]
        cancels = lock_intents(connection, cursor, intents)
        found = _with_receipts(cursor, found)
        now, settings = database_now(connection), get_settings()
        done: list[Step] = []
        for held_in, step_of in (
            (DeliveryState.LEASED, _leased_step),
            (DeliveryState.SUBMITTING, _lost_step),
        ):
            rows = [row for row in found if row.state is held_in]
            steps = [step_of(row, cancels.get(row.intent_id, ""), settings, now) for row in rows]
            held = apply_steps(connection, cursor, steps, held_in=held_in)
            done += [step for step in steps if step.id in held]
        ids = {step.id for step in done}
        recovered = [row for row in found if row.id in ids]
        _mark_lost(connection, cursor, recovered)
        # Of a shadow nobody's message was held up by it, and the verification strands some on purpose.
        ours = [row for row in recovered if row.authority is Authority.PIPELINE]
        count_all(connection, Counter(_recovered(row) for row in ours))
        move_on(connection, cursor, intents)
    put_back = sum(step.due_at is not None for step in done)
    return PutBack(
        put_back=put_back,
        ended=len(done) - put_back,
        intents=frozenset(row.intent_id for row in recovered),
    )


def _with_receipts(cursor: CursorWrapper, rows: Sequence[_Abandoned]) -> list[_Abandoned]:
    early = early_receipts(cursor, [row.id for row in rows])
    return [replace(row, early=early.get(row.id, NONE)) for row in rows]


def _find(connection: BaseDatabaseWrapper, cursor: CursorWrapper) -> list[_Abandoned]:
    # Without locks: intents are locked before deliveries everywhere. The steps compare again.
    cursor.execute(
        f"""
        SELECT id, intent_id, lease_token, state, channel, authority, due_at, expires_at, claims, attempts,
            (SELECT count(*) FROM {ATTEMPT} a WHERE a.delivery_id = {DELIVERY}.id
                AND a.outcome = 'ambiguous')
        FROM {DELIVERY}
        WHERE state IN ('leased', 'submitting') AND lease_expires_at < {now_sql(connection)}
        ORDER BY lease_expires_at, id LIMIT {BATCH}
        """,
        [],
    )
    return [_abandoned(row) for row in cursor.fetchall()]


def _abandoned(row: Sequence[Any]) -> _Abandoned:
    return _Abandoned(
        id=row[0],
        intent_id=row[1],
        token=row[2],
        state=DeliveryState(row[3]),
        channel=Channel(row[4]),
        authority=Authority(row[5]),
        due_at=as_datetime(row[6]),
        expires_at=as_datetime(row[7]),
        claims=row[8],
        attempts=row[9],
        ambiguous_attempts=row[10],
    )


def _leased_step(row: _Abandoned, cancel_reason: str, settings: Settings, now: dt.datetime) -> Step:
    if cancel_reason:
        return Step(id=row.id, token=row.token, state=DeliveryState.CANCELLED, reason=cancel_reason)
    if not still_useful(settings.policy(row.channel), now=now, expires_at=row.expires_at):
        decision = Decision(state=DeliveryState.EXPIRED, reason=DeliveryReason.NO_USEFUL_TIME_LEFT)
    else:
        decision = Decision(
            state=DeliveryState.PENDING, reason=DeliveryReason.LEASE_RAN_OUT, due_at=row.due_at
        )
    return _step(row, decision, settings, outcome="")


def _lost_step(row: _Abandoned, cancel_reason: str, settings: Settings, now: dt.datetime) -> Step:
    decision = decide(
        _LOST,
        Submission(
            attempts=row.attempts,
            ambiguous_attempts=row.ambiguous_attempts + 1,
            expires_at=row.expires_at,
            cancel_reason=cancel_reason,
        ),
        settings.policy(row.channel),
        now=now,
        draw=_draw(),
    )
    return _step(row, decision, settings, outcome=OutcomeKind.AMBIGUOUS)


def _step(row: _Abandoned, decision: Decision, settings: Settings, outcome: str) -> Step:
    bounded = within_claims(decision, claims=row.claims, max_claims=settings.max_claims)
    told = with_receipts(bounded, row.early)
    return Step(
        id=row.id,
        token=row.token,
        state=told.state,
        outcome=OutcomeKind.ACCEPTED if told.state is DeliveryState.DELIVERED else outcome,
        reason=told.reason,
        due_at=told.due_at,
    )


def _recovered(row: _Abandoned) -> What:
    return CountedEvent.LEASE_RECOVERED, row.channel, row.state.value


def _mark_lost(
    connection: BaseDatabaseWrapper, cursor: CursorWrapper, recovered: Sequence[_Abandoned]
) -> None:
    """Close the attempts whose worker did not come back, as ambiguous."""
    rows = [(row.id, row.token) for row in recovered if row.state is DeliveryState.SUBMITTING]
    if not rows:
        return
    cursor.execute(
        f"""
        WITH {values_cte("lost", ("lost_delivery", "lost_token"), rows)}
        UPDATE {ATTEMPT} SET outcome = 'ambiguous', reason = 'lost', finished_at = {now_sql(connection)}
        FROM lost WHERE delivery_id = lost_delivery AND token = lost_token AND outcome = ''
        """,
        flat(connection, rows),
    )
