"""Tables, constraints and indexes; no behaviour."""

from __future__ import annotations

from resetdelivery.models.attempt import Attempt
from resetdelivery.models.channel_control import ChannelControl
from resetdelivery.models.delivery import Delivery
from resetdelivery.models.idempotency_key import IdempotencyKey
from resetdelivery.models.intent import ResetIntent
from resetdelivery.models.provider_circuit import ProviderCircuit

__all__ = ["Attempt", "ChannelControl", "Delivery", "IdempotencyKey", "ProviderCircuit", "ResetIntent"]
