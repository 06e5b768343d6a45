"""What a client may know of an intent of its own."""

from __future__ import annotations

import uuid
from typing import cast

from django.db import router
from django.db.models import Exists, OuterRef

from resetdelivery.api.failures import not_found
from resetdelivery.api.intent_fields import ChannelName, ChannelStatus, IntentStatus, StatusWord
from resetdelivery.domain.states import OPEN_STATES, DeliveryState
from resetdelivery.models import Delivery, IdempotencyKey, ResetIntent


def own_intent(client: str, reference: uuid.UUID) -> ResetIntent:
    """The intent that ``client`` asked for; else the problem "not found".

    An intent belongs to every client with a key that leads to it: two that ask for one account at
    once may share it.
    """
    # Not from a replica: a client asks about what it has just been told.
    alias = router.db_for_write(ResetIntent)
    own = IdempotencyKey.objects.filter(intent=OuterRef("pk"), client=client)
    intent = ResetIntent.objects.using(alias).filter(Exists(own), reference=reference).first()
    if intent is None:
        raise not_found()
    return intent


def intent_status(client: str, reference: uuid.UUID) -> IntentStatus:
    """Where an intent stands that ``client`` asked for; else the problem "not found"."""
    intent = own_intent(client, reference)
    alias = intent._state.db
    deliveries = Delivery.objects.using(alias).filter(intent=intent).order_by("position")
    return IntentStatus(
        reference=intent.reference,
        state="open" if intent.state == "open" else "closed",
        expires_at=intent.expires_at,
        channels=[_channel_status(delivery) for delivery in deliveries],
    )


def _channel_status(delivery: Delivery) -> ChannelStatus:
    return ChannelStatus(
        channel=cast("ChannelName", delivery.channel),
        state=_word(DeliveryState(delivery.state)),
        expires_at=delivery.expires_at,
        finished_at=delivery.finished_at,
    )


def _word(state: DeliveryState) -> StatusWord:
    """One word for all that was not sent: the states themselves would say why, and so who exists."""
    if state in OPEN_STATES:
        return "pending"
    if state is DeliveryState.ACCEPTED:
        return "accepted"
    return "delivered" if state is DeliveryState.DELIVERED else "not_sent"
