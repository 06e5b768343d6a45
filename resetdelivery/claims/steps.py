"""Fenced steps out of a held state, many rows at a time."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from resetdelivery.claims.sql import DELIVERY, Row, flat, values_cte
from resetdelivery.clock import now_sql
from resetdelivery.domain.states import DeliveryState


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Where one held delivery goes. ``due_at`` is set exactly when it goes back to PENDING.

    ``outcome`` empty leaves the recorded one. ``gives_back`` returns the claim and the attempt,
    which then count as never taken. ``segments`` is recorded where none are yet.
    """

    id: int
    token: int
    state: DeliveryState
    outcome: str = ""
    reason: str = ""
    due_at: dt.datetime | None = None
    gives_back: bool = False
    segments: str = ""


def apply_steps(
    connection: BaseDatabaseWrapper, cursor: CursorWrapper, steps: Sequence[Step], *, held_in: DeliveryState
) -> set[int]:
    """Apply the steps to the rows still held with (id, token, ``held_in``); the ids that were.

    Two statements at most: one for what goes back to PENDING, one for what ends.
    """
    returned = [step for step in steps if step.due_at is not None]
    ended = [step for step in steps if step.due_at is None]
    done = _return(connection, cursor, returned, held_in) if returned else set()
    return done | (_end(connection, cursor, ended, held_in) if ended else set())


# A held row whose attempt is on record gives back both; a leased one has only its claim to give.
_GIVE_BACK = {
    DeliveryState.LEASED: "claims = claims - step_back",
    DeliveryState.SUBMITTING: "claims = claims - step_back, attempts = attempts - step_back",
}


def _return(
    connection: BaseDatabaseWrapper, cursor: CursorWrapper, steps: Sequence[Step], held_in: DeliveryState
) -> set[int]:
    columns = ("step_id", "step_token", "step_outcome", "step_reason", "step_due_at", "step_back")
    rows: list[Row] = [
        (step.id, step.token, step.outcome, step.reason, step.due_at, int(step.gives_back))
        for step in steps
        if step.due_at is not None
    ]
    # hinted_at empty: nobody was told of the new due time yet.
    cursor.execute(
        f"""
        WITH {values_cte("steps", columns, rows)}
        UPDATE {DELIVERY} SET state = 'pending', due_at = step_due_at, hinted_at = NULL,
            {_GIVE_BACK[held_in]}, reason = step_reason,
            outcome = CASE WHEN step_outcome = '' THEN outcome ELSE step_outcome END,
            lease_owner = '', lease_expires_at = NULL
        FROM steps WHERE id = step_id AND lease_token = step_token AND state = '{held_in.value}'
        RETURNING id
        """,
        flat(connection, rows),
    )
    return {row_id for (row_id,) in cursor.fetchall()}


def _end(
    connection: BaseDatabaseWrapper, cursor: CursorWrapper, steps: Sequence[Step], held_in: DeliveryState
) -> set[int]:
    columns = (
        *("step_id", "step_token", "step_state", "step_outcome", "step_reason", "step_back"),
        "step_segments",
    )
    rows: list[Row] = [
        (s.id, s.token, s.state.value, s.outcome, s.reason, int(s.gives_back), s.segments) for s in steps
    ]
    cursor.execute(
        f"""
        WITH {values_cte("steps", columns, rows)}
        UPDATE {DELIVERY} SET state = step_state, finished_at = {now_sql(connection)},
            {_GIVE_BACK[held_in]}, reason = step_reason,
            outcome = CASE WHEN step_outcome = '' THEN outcome ELSE step_outcome END,
            segments_bucket = CASE WHEN segments_bucket = '' THEN step_segments ELSE segments_bucket END,
            lease_owner = '', lease_expires_at = NULL
        FROM steps WHERE id = step_id AND lease_token = step_token AND state = '{held_in.value}'
        RETURNING id
        """,
        flat(connection, rows),
    )
    return {row_id for (row_id,) in cursor.fetchall()}
