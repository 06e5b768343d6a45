"""Give rows back that we claimed but could not get to."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connections, transaction

from resetdelivery.claims.claim import Claimed
from resetdelivery.claims.sql import close_intents, lock_intents
from resetdelivery.claims.steps import Step, apply_steps
from resetdelivery.domain.states import DeliveryState


def release(unsent: Sequence[Claimed], *, using: str) -> set[int]:
    """LEASED → PENDING with the claim given back; CANCELLED where a cancel came meanwhile."""
    if not unsent:
        return set()
    connection = connections[using]
    intents = [claimed.intent_id for claimed in unsent]
    with transaction.atomic(using=using), connection.cursor() as cursor:
        cancels = lock_intents(connection, cursor, intents)
        steps = [_step(claimed, cancels.get(claimed.intent_id, "")) for claimed in unsent]
        done = apply_steps(connection, cursor, steps, held_in=DeliveryState.LEASED)
        close_intents(connection, cursor, intents)
    return done


def _step(claimed: Claimed, cancel_reason: str) -> Step:
    if cancel_reason:
        return Step(id=claimed.id, token=claimed.token, state=DeliveryState.CANCELLED, reason=cancel_reason)
    return Step(
        id=claimed.id,
        token=claimed.token,
        state=DeliveryState.PENDING,
        due_at=claimed.due_at,
        gives_back=True,
    )
