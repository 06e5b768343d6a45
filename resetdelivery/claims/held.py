"""Find again what a worker outside holds: it names a delivery and its fencing token, no more."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace

from django.db import connections

from notifications.outcome import Outcome
from resetdelivery.claims.claim import Claimed, reload
from resetdelivery.claims.mark import Marked
from resetdelivery.claims.sql import lock_intents
from resetdelivery.clock import database_now
from resetdelivery.domain.external import sender_in
from resetdelivery.domain.states import HELD_STATES, DeliveryState
from resetdelivery.models import Attempt, Delivery


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """The lease that one of ``sender``'s workers says it has on a delivery."""

    sender: str
    reference: uuid.UUID
    token: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A delivery that is held just as the worker says; ``claimed_at`` is the time of this look.

    ``live``: its lease goes on. A row whose lease ran out may be the sweep's at any moment.
    """

    claimed: Claimed
    owner: str
    state: DeliveryState
    live: bool


def held(hold: Hold, *, using: str) -> Held | None:
    """What ``hold`` names, LEASED or SUBMITTING; ``None`` where it is not the sender's (any more)."""
    row = (
        Delivery.objects.using(using)
        .filter(reference=hold.reference, lease_token=hold.token, state__in=HELD_STATES)
        .values_list("pk", "state", "lease_owner")
        .first()
    )
    if row is None or sender_in(row[2]) != hold.sender:
        return None
    connection = connections[using]
    with connection.cursor() as cursor:
        (claimed,) = reload(cursor, {row[0]: database_now(connection)})
    # Between the two reads another may have claimed it: then this is that one's row.
    if claimed.token != hold.token:
        return None
    live = claimed.lease_expires_at > claimed.claimed_at
    return Held(claimed=claimed, owner=row[2], state=DeliveryState(row[1]), live=live)


@dataclass(frozen=True, slots=True, kw_only=True)
class OnRecord:
    """An attempt of the sender's own, what is written of it so far, and its delivery's state."""

    marked: Marked
    outcome: str
    reason: str
    late_outcome: str
    state: DeliveryState

    def says(self, outcome: Outcome) -> bool:
        """Whether it ended with just this outcome."""
        return (self.outcome, self.reason) == (outcome.kind.value, outcome.reason.value)


def on_record(hold: Hold, *, using: str) -> OnRecord | None:
    """The attempt that was marked under ``hold``; its intent stays locked until the commit.

    Told by the attempt and not by the lease, which may be another's by now.
    """
    mine = Attempt.objects.using(using).filter(
        delivery__reference=hold.reference, token=hold.token, transport=hold.sender
    )
    intent = mine.values_list("delivery__intent_id", flat=True).first()
    if intent is None:
        return None
    connection = connections[using]
    with connection.cursor() as cursor:
        lock_intents(connection, cursor, [intent])
        attempt = mine.select_related("delivery").get()
        (now_held,) = reload(cursor, {attempt.delivery_id: attempt.started_at})
    return OnRecord(
        marked=Marked(
            claimed=_as_claimed(now_held, attempt),
            attempt_id=attempt.pk,
            attempt_reference=attempt.reference,
            started_at=attempt.started_at,
            transport=attempt.transport,
            segments=attempt.delivery.segments_bucket,
        ),
        outcome=attempt.outcome,
        reason=attempt.reason,
        late_outcome=attempt.late_outcome,
        state=DeliveryState(attempt.delivery.state),
    )


def _as_claimed(row: Claimed, attempt: Attempt) -> Claimed:
    """The row as it was when ``attempt`` was still to come, under the token that it had then."""
    return replace(row, token=attempt.token, attempts=row.attempts - 1, attempt_rows=attempt.number - 1)
