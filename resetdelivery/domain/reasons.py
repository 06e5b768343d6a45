"""Why a delivery stands where it stands: a closed set beside the transports' own reasons.

``Delivery.reason`` holds one of these or one of :class:`notifications.outcome.Reason`.
"""

from __future__ import annotations

import enum


class DeliveryReason(enum.StrEnum):
    """Reasons that this package gives; each reads on in "why was this not sent?"."""

    NONE = ""
    SUPERSEDED = "superseded"
    WITHDRAWN = "withdrawn"
    NOT_NEEDED = "not_needed"
    UNKNOWN_ACCOUNT = "unknown_account"
    ACCOUNT_CHANGED = "account_changed"
    ACCOUNT_INACTIVE = "account_inactive"
    NO_DESTINATION = "no_destination"
    INVALID_MESSAGE = "invalid_message"
    NO_USEFUL_TIME_LEFT = "no_useful_time_left"
    RETRY_DOES_NOT_FIT = "retry_does_not_fit"
    ATTEMPTS_USED_UP = "attempts_used_up"
    CLAIMS_USED_UP = "claims_used_up"
    AMBIGUOUS_RESENDS_USED_UP = "ambiguous_resends_used_up"
    LEASE_RAN_OUT = "lease_ran_out"
    PROVIDER_REMOVED = "provider_removed"
    SENT_BY_EXISTING_SENDER = "sent_by_existing_sender"
    SHADOW = "shadow"
    ACCOUNT_LIMIT = "account_limit"
    DESTINATION_LIMIT = "destination_limit"
    SMS_PREFIX_LIMIT = "sms_prefix_limit"
    SMS_BUDGET_SPENT = "sms_budget_spent"


class ArmReason(enum.StrEnum):
    """Why a channel that waited for the one before it is used after all."""

    NONE = ""
    FAILED = "failed"
    EXPIRED = "expired"
    PAUSED = "paused"
    UNCONFIRMED = "unconfirmed"


class CancelReason(enum.StrEnum):
    """Why an intent was asked to stop."""

    SUPERSEDED = "superseded"
    WITHDRAWN = "withdrawn"
    ACCOUNT_LIMIT = "account_limit"
    DESTINATION_LIMIT = "destination_limit"


class SuppressReason(enum.StrEnum):
    """Which limit keeps one delivery from being sent."""

    NONE = ""
    DESTINATION_LIMIT = "destination_limit"


class PauseReason(enum.StrEnum):
    """Why a channel sends nothing."""

    NONE = ""
    OPERATOR = "operator"
    MISCONFIGURED = "misconfigured"
