"""End what the gate refused: LEASED to a final state, nothing sent."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connections, transaction

from resetdelivery.claims.claim import Claimed
from resetdelivery.claims.follow import move_on
from resetdelivery.claims.sql import lock_intents
from resetdelivery.claims.steps import Step, apply_steps
from resetdelivery.domain.decisions import Verdict
from resetdelivery.domain.states import DeliveryState


def finish_leased(refused: Sequence[tuple[Claimed, Verdict]], *, using: str) -> set[int]:
    """Write the verdicts of the rows that are still ours; their ids."""
    if not refused:
        return set()
    connection = connections[using]
    intents = [claimed.intent_id for claimed, _ in refused]
    steps = [
        Step(
            id=claimed.id,
            token=claimed.token,
            state=verdict.state,
            reason=verdict.reason,
            segments=verdict.segments,
        )
        for claimed, verdict in refused
    ]
    with transaction.atomic(using=using), connection.cursor() as cursor:
        lock_intents(connection, cursor, intents)
        done = apply_steps(connection, cursor, steps, held_in=DeliveryState.LEASED)
        move_on(connection, cursor, intents)
    return done
