"""Pages for intents, deliveries, attempts, channels, providers, callers and the audit trail.

All are read-only but those of the rollout. Nothing personal is on them, and no secret.
They are on Django's default site; another one gets them by ``register(site)``.
"""

from __future__ import annotations

from django.contrib import admin

from resetdelivery.admin.api_client import ApiClientAdmin, ApiKeyAdmin
from resetdelivery.admin.attempt import AttemptAdmin
from resetdelivery.admin.audit_entry import AuditEntryAdmin
from resetdelivery.admin.channel_control import ChannelControlAdmin
from resetdelivery.admin.delivery import DeliveryAdmin
from resetdelivery.admin.intent import IntentAdmin
from resetdelivery.admin.provider_circuit import ProviderCircuitAdmin
from resetdelivery.models import (
    ApiClient,
    ApiKey,
    Attempt,
    AuditEntry,
    ChannelControl,
    Delivery,
    ProviderCircuit,
    ResetIntent,
)

__all__ = ["register"]


def register(site: admin.AdminSite) -> None:
    """Put the pages on ``site``."""
    site.register(ResetIntent, IntentAdmin)
    site.register(Delivery, DeliveryAdmin)
    site.register(Attempt, AttemptAdmin)
    site.register(ChannelControl, ChannelControlAdmin)
    site.register(ProviderCircuit, ProviderCircuitAdmin)
    site.register(ApiClient, ApiClientAdmin)
    site.register(ApiKey, ApiKeyAdmin)
    site.register(AuditEntry, AuditEntryAdmin)


register(admin.site)
