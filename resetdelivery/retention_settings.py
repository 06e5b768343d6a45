"""How long what is kept: the part of ``RESETDELIVERY`` that ``resetdelivery.retention`` reads."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from resetdelivery.throttle_settings import ThrottleSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionSettings(ThrottleSettings):
    """Keys of ``RESETDELIVERY`` are these names in capitals.

    Counted from when an intent closed, an attempt started, a key was stored. Nothing goes before
    it is counted in the lifetime totals. ``keep_decoys`` is for intents that led to no account and
    ``keep_shadows`` for those that an existing sender sent. ``purge_batch`` is how many rows one
    transaction takes.
    """

    keep_account_refs: dt.timedelta = dt.timedelta(days=1)
    # No longer than the account reference by which forget_account finds them.
    keep_provider_references: dt.timedelta = dt.timedelta(days=1)
    keep_idempotency_keys: dt.timedelta = dt.timedelta(days=1)
    keep_attempts: dt.timedelta = dt.timedelta(days=7)
    keep_intents: dt.timedelta = dt.timedelta(days=30)
    # No shorter than the keys: who repeats a request must not learn that it led to nobody.
    keep_decoys: dt.timedelta = dt.timedelta(days=1)
    keep_shadows: dt.timedelta = dt.timedelta(hours=1)
    keep_minutes: dt.timedelta = dt.timedelta(days=35)
    keep_audit_entries: dt.timedelta = dt.timedelta(days=730)
    purge_batch: int = 1000
