"""Give rows back that we claimed but could not get to."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence

from django.db import connections, transaction

from resetdelivery.claims.claim import Claimed
from resetdelivery.claims.follow import move_on
from resetdelivery.claims.sql import lock_intents
from resetdelivery.claims.steps import Step, apply_steps
from resetdelivery.domain.states import DeliveryState


def release(
    unsent: Sequence[Claimed], *, using: str, until: Mapping[int, dt.datetime] | None = None
) -> set[int]:
    """LEASED → PENDING with the claim given back; CANCELLED where a cancel came meanwhile.

    A row in ``until`` is due again then and not before: nobody could send it earlier.
    """
    if not unsent:
        return set()
    connection = connections[using]
    intents = [claimed.intent_id for claimed in unsent]
    with transaction.atomic(using=using), connection.cursor() as cursor:
        cancels = lock_intents(connection, cursor, intents)
        due = {claimed.id: claimed.due_at for claimed in unsent} | dict(until or {})
        steps = [_step(one, cancels.get(one.intent_id, ""), due[one.id]) for one in unsent]
        done = apply_steps(connection, cursor, steps, held_in=DeliveryState.LEASED)
        move_on(connection, cursor, intents)
    return done


def _step(claimed: Claimed, cancel_reason: str, due_at: dt.datetime) -> Step:
    if cancel_reason:
        return Step(id=claimed.id, token=claimed.token, state=DeliveryState.CANCELLED, reason=cancel_reason)
    return Step(
        id=claimed.id,
        token=claimed.token,
        state=DeliveryState.PENDING,
        due_at=due_at,
        gives_back=True,
    )
