"""Tables, constraints and indexes; no behaviour."""

from __future__ import annotations

from resetdelivery.models.api_client import ApiClient
from resetdelivery.models.api_key import ApiKey
from resetdelivery.models.attempt import Attempt
from resetdelivery.models.audit_entry import AuditEntry
from resetdelivery.models.channel_control import ChannelControl
from resetdelivery.models.delivery import Delivery
from resetdelivery.models.event_counts import EventMinute, EventTotal
from resetdelivery.models.idempotency_key import IdempotencyKey
from resetdelivery.models.intent import ResetIntent
from resetdelivery.models.job_run import JobRun
from resetdelivery.models.limit_use import LimitUse
from resetdelivery.models.outcome_counts import OutcomeMinute, OutcomeTotal
from resetdelivery.models.provider_circuit import ProviderCircuit
from resetdelivery.models.rollup_state import RollupState

__all__ = [
    "ApiClient",
    "ApiKey",
    "Attempt",
    "AuditEntry",
    "ChannelControl",
    "Delivery",
    "EventMinute",
    "EventTotal",
    "IdempotencyKey",
    "JobRun",
    "LimitUse",
    "OutcomeMinute",
    "OutcomeTotal",
    "ProviderCircuit",
    "ResetIntent",
    "RollupState",
]
