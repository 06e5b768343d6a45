"""What one round of purging does, in its order. Pure."""

from __future__ import annotations

import enum


class PurgeStep(enum.StrEnum):
    """The steps. What holds something goes before it: keys before the intents that they lead to."""

    ACCOUNT_REFS = "account_refs"
    # After those whose time came anyhow: each that is left is looked at for whose it was to send.
    SHADOW_REFS = "shadow_refs"
    PROVIDER_REFERENCES = "provider_references"
    IDEMPOTENCY_KEYS = "idempotency_keys"
    DECOYS = "decoys"
    ATTEMPTS = "attempts"
    INTENTS = "intents"
    LIMIT_USES = "limit_uses"
    OUTCOME_MINUTES = "outcome_minutes"
    EVENT_MINUTES = "event_minutes"
    AUDIT_ENTRIES = "audit_entries"
