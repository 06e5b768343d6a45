"""Tables, constraints and indexes; no behaviour."""

from __future__ import annotations

from resetdelivery.models.api_client import ApiClient
from resetdelivery.models.api_key import ApiKey
from resetdelivery.models.attempt import Attempt
from resetdelivery.models.audit_entry import AuditEntry
from resetdelivery.models.channel_control import ChannelControl
from resetdelivery.models.delivery import Delivery
from resetdelivery.models.idempotency_key import IdempotencyKey
from resetdelivery.models.intent import ResetIntent
from resetdelivery.models.limit_use import LimitUse
from resetdelivery.models.provider_circuit import ProviderCircuit

__all__ = [
    "ApiClient",
    "ApiKey",
    "Attempt",
    "AuditEntry",
    "ChannelControl",
    "Delivery",
    "IdempotencyKey",
    "LimitUse",
    "ProviderCircuit",
    "ResetIntent",
]
