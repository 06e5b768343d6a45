"""What a transport reports about one submission. Pure: standard library only.

A transport never raises for something a provider did: it returns an
:class:`Outcome`. No provider text, address or exception message is in it.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class OutcomeKind(enum.StrEnum):
    """The seven answers a submission can have."""

    #: The provider took responsibility (SMTP 250 after the final dot, HTTP 201). Not "delivered".
    ACCEPTED = "accepted"
    #: Refused for now, certainly not taken: worth another try.
    TRANSIENT = "transient"
    #: Refused for now because we send too fast: worth another try, after the provider's delay.
    THROTTLED = "throttled"
    #: Refused for good: this message to this destination will never be taken.
    PERMANENT = "permanent"
    #: The provider may or may not have it (cut after the final dot, HTTP 5xx after the body).
    AMBIGUOUS = "ambiguous"
    #: Our account or configuration is at fault (credentials, suspended sender); no message passes.
    MISCONFIGURED = "misconfigured"
    #: The deadline passed before the point of no return: certainly not sent.
    LATE = "late"


class Reason(enum.StrEnum):
    """Why, from a closed set that is safe in logs, metrics and pages."""

    OK = "ok"
    CONNECT_FAILED = "connect_failed"
    DNS_FAILED = "dns_failed"
    TLS_FAILED = "tls_failed"
    DISCONNECTED_BEFORE_SUBMIT = "disconnected_before_submit"
    DISCONNECTED_AFTER_SUBMIT = "disconnected_after_submit"
    TIMEOUT_BEFORE_SUBMIT = "timeout_before_submit"
    TIMEOUT_AFTER_SUBMIT = "timeout_after_submit"
    DEADLINE_PASSED = "deadline_passed"
    PROVIDER_BUSY = "provider_busy"
    PROVIDER_ERROR = "provider_error"
    UNREADABLE_REPLY = "unreadable_reply"
    RATE_LIMITED = "rate_limited"
    GREYLISTED = "greylisted"
    MAILBOX_FULL = "mailbox_full"
    MAILBOX_UNAVAILABLE = "mailbox_unavailable"
    RECIPIENT_REFUSED = "recipient_refused"
    SENDER_REFUSED = "sender_refused"
    CONTENT_REFUSED = "content_refused"
    MESSAGE_TOO_LARGE = "message_too_large"
    POLICY_REFUSED = "policy_refused"
    INVALID_DESTINATION = "invalid_destination"
    INVALID_MESSAGE = "invalid_message"
    OPTED_OUT = "opted_out"
    UNROUTABLE = "unroutable"
    #: By receipt only: the handset was off or out of reach.
    UNREACHABLE = "unreachable"
    #: By receipt only: the provider or carrier held it until its validity ended.
    EXPIRED_AT_PROVIDER = "expired_at_provider"
    AUTHENTICATION_FAILED = "authentication_failed"
    ACCOUNT_SUSPENDED = "account_suspended"
    LIFETIME_TOO_SHORT = "lifetime_too_short"
    TRANSPORT_BUG = "transport_bug"
    #: The process died, or was stopped, between the attempt's record and its outcome.
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One submission's result.

    ``retry_after_seconds`` is the provider's own delay where it gave one;
    ``provider_reference`` the provider's id for the message, where it gave one.
    """

    kind: OutcomeKind
    reason: Reason = Reason.OK
    retry_after_seconds: float | None = None
    provider_reference: str = ""
