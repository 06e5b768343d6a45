"""The policy as data: of each table and each field, why it is held, for how long, and what then.

``docs/retention.md`` and ``manage.py retention_report`` show this table; tests hold it against the
models, so that a new column has no place to be until somebody says how long it stays.
"""

from __future__ import annotations

import datetime as dt
import enum
from dataclasses import dataclass

from django.db.models import Model

from resetdelivery.domain.limits import DAY
from resetdelivery.models import (
    ApiClient,
    ApiKey,
    Attempt,
    AuditEntry,
    ChannelControl,
    Delivery,
    EventMinute,
    EventTotal,
    IdempotencyKey,
    JobRun,
    LimitUse,
    OutcomeMinute,
    OutcomeTotal,
    ProviderCircuit,
    ResetIntent,
    RollupState,
)
from resetdelivery.retention_settings import RetentionSettings


class End(enum.StrEnum):
    """What happens when the time is over."""

    SCRUBBED = "scrubbed"
    DELETED = "deleted"
    WITH_INTENT = "deleted with its intent"
    #: Configuration, or a number of rows that does not grow with the number of resets.
    STAYS = "stays"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How long ``fields`` of ``model`` are held.

    Counted from the moment in the column ``since``, for as long as the setting ``keep`` says or, where
    there is none, for ``fixed``. ``only`` says of which rows, if not of all; their other fields have a
    rule of their own. ``held`` is SQL: which rows still hold it.
    """

    name: str
    model: type[Model]
    fields: tuple[str, ...]
    why: str
    end: End = End.STAYS
    since: str = ""
    keep: str = ""
    fixed: dt.timedelta | None = None
    only: str = ""
    held: str = "1 = 1"

    def kept_for(self, settings: RetentionSettings) -> dt.timedelta | None:
        """How long; ``None`` where that is not counted from a moment of its own."""
        return getattr(settings, self.keep) if self.keep else self.fixed


#: An account's reference that is none: "~" and a keyed digest of 64 hex digits.
IS_DECOY = "(substr(account_ref, 1, 1) = '~' AND length(account_ref) = 65)"
#: No delivery of it is ours to send.
IS_SHADOW = (
    f"NOT EXISTS (SELECT 1 FROM {Delivery._meta.db_table} own WHERE own.intent_id = "
    f"{ResetIntent._meta.db_table}.id AND own.authority = 'pipeline')"
)
_NAMED = "scrubbed_at IS NULL AND NOT (account_ref = '')"

_COUNTS = (
    *("id", "channel", "outcome", "template_version", "attempts", "queue_delay_counts"),
    *("queue_delay_seconds", "duration_counts", "duration_seconds", "remaining_counts", "remaining_ratio"),
    *("lease_used_counts", "lease_used_ratio", "segments_counts"),
)

_EVENTS = ("id", "event", "channel", "label", "count")
POLICY: tuple[Rule, ...] = (
    Rule(
        name="account_refs",
        model=ResetIntent,
        fields=("account_ref", "account_digest"),
        why="whose reset it is: found by a second request, a cancel, a worker; once closed, only by "
        "forget_account",
        end=End.SCRUBBED,
        since="closed_at",
        keep="keep_account_refs",
        held=f"{_NAMED} AND NOT {IS_DECOY}",
    ),
    Rule(
        name="shadow_refs",
        model=ResetIntent,
        fields=("account_ref", "account_digest"),
        why="nothing of it was ours to send",
        end=End.SCRUBBED,
        since="closed_at",
        keep="keep_shadows",
        only="an existing sender sends all channels",
        held=f"{_NAMED} AND NOT {IS_DECOY} AND {IS_SHADOW}",
    ),
    Rule(
        name="decoys",
        model=ResetIntent,
        fields=("account_ref", "account_digest"),
        why="a reset that led to nobody must look like any other while its idempotency key is known",
        end=End.DELETED,
        since="closed_at",
        keep="keep_decoys",
        only="nobody has the address that was typed",
        held=IS_DECOY,
    ),
    Rule(
        name="intents",
        model=ResetIntent,
        fields=(
            *(
                "id",
                "reference",
                "kind",
                "strategy",
                "template_version",
                "locale",
                "created_at",
                "expires_at",
            ),
            *("cancel_requested_at", "cancel_reason", "state", "closed_at", "traceparent"),
            *("trace_parent_span", "admission_seconds", "traced_at", "scrubbed_at"),
        ),
        why="what happened to one reset, by its random reference; nothing of whom",
        end=End.DELETED,
        since="closed_at",
        keep="keep_intents",
    ),
    Rule(
        name="deliveries",
        model=Delivery,
        fields=(
            *("id", "reference", "intent", "channel", "position", "authority", "state", "claims", "attempts"),
            *(
                "due_at",
                "expires_at",
                "lease_owner",
                "lease_token",
                "lease_expires_at",
                "hinted_at",
                "outcome",
            ),
            *("reason", "segments_bucket", "finished_at", "arm_at", "arm_reason", "suppressed", "first_hint"),
            "legacy_outcome",
        ),
        why="what happened on one channel, and why",
        end=End.WITH_INTENT,
    ),
    Rule(
        name="provider_references",
        model=Attempt,
        fields=("provider_reference",),
        why="the provider's name for a message, to ask it about one that it has not confirmed; goes at once "
        "with the last receipt, and on a channel without receipts",
        end=End.SCRUBBED,
        since="started_at",
        keep="keep_provider_references",
        held="NOT (provider_reference = '')",
    ),
    Rule(
        name="attempts",
        model=Attempt,
        fields=(
            *("id", "delivery", "number", "reference", "token", "started_at", "finished_at", "outcome"),
            *("late_outcome", "reason", "queue_delay_seconds", "remaining_seconds", "duration_seconds"),
            *("transport", "worker", "receipt", "receipt_reason", "receipt_at", "claimed_at", "lease_used"),
            "late_at",
        ),
        why="each try of a delivery: what receipts name, what counts are counted from, which machine failed; "
        "all of a delivery go together, counted from the newest",
        end=End.DELETED,
        since="started_at",
        keep="keep_attempts",
    ),
    Rule(
        name="idempotency_keys",
        model=IdempotencyKey,
        fields=("id", "client", "key_digest", "request_digest", "intent", "created_at"),
        why="the same request again has the same answer, and its client may ask where it stands; "
        "longer while the intent is open",
        end=End.DELETED,
        since="created_at",
        keep="keep_idempotency_keys",
    ),
    Rule(
        name="limit_uses",
        model=LimitUse,
        fields=("id", "key_digest", "used_at", "counted"),
        why="how often one account and one destination were asked for, by keyed digests",
        end=End.DELETED,
        since="used_at",
        fixed=DAY,
    ),
    Rule(
        name="outcome_minutes",
        model=OutcomeMinute,
        fields=(*_COUNTS, "minute", "kept"),
        why="history by the minute; numbers only",
        end=End.DELETED,
        since="minute",
        keep="keep_minutes",
    ),
    Rule(
        name="event_minutes",
        model=EventMinute,
        fields=(*_EVENTS, "minute", "kept"),
        why="history by the minute; numbers only",
        end=End.DELETED,
        since="minute",
        keep="keep_minutes",
    ),
    Rule(
        name="audit_entries",
        model=AuditEntry,
        fields=("id", "at", "who", "action", "target", "why"),
        why="which operator changed what, and why",
        end=End.DELETED,
        since="at",
        keep="keep_audit_entries",
    ),
    Rule(
        name="outcome_totals",
        model=OutcomeTotal,
        fields=_COUNTS,
        why="counters that never fall; a row per label",
    ),
    Rule(
        name="event_totals",
        model=EventTotal,
        fields=_EVENTS,
        why="counters that never fall; a row per label",
    ),
    Rule(
        name="rollup_state",
        model=RollupState,
        fields=("id", "closed_before"),
        why="up to when everything is counted; one row",
    ),
    Rule(
        name="job_runs",
        model=JobRun,
        fields=("name", "succeeded_at", "took_seconds"),
        why="when periodic work last succeeded; a row per job",
    ),
    Rule(
        name="channel_controls",
        model=ChannelControl,
        fields=(*("channel", "mode", "slice_per_mille", "paused", "pause_reason", "probing", "probe_at"),),
        why="who sends on a channel and whether it is paused; a row per channel",
    ),
    Rule(
        name="provider_circuits",
        model=ProviderCircuit,
        fields=("id", "channel", "provider", "outages", "open_until", "opened_at", "reason"),
        why="which provider is passed over; a row per provider",
    ),
    Rule(
        name="api_clients",
        model=ApiClient,
        fields=("id", "name", "created_at"),
        why="services that may call; configuration",
    ),
    Rule(
        name="api_keys",
        model=ApiKey,
        fields=(
            *(
                "id",
                "client",
                "key_id",
                "secret_digest",
                "scopes",
                "created_at",
                "last_used_at",
                "revoked_at",
            ),
        ),
        why="their credentials, as digests; configuration",
    ),
)
