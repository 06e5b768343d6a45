"""What an answer in the generic form means, as a table. Pure: standard library only.

Source: ``docs/adding-a-provider.md``, "The generic form", and RFC 9110 for what that leaves open.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping

from notifications.http_replies import Meaning, accepted, by_status, json_object, outcome
from notifications.outcome import Outcome, OutcomeKind, Reason

_ID = re.compile(r"[\x21-\x7e]{1,128}", re.ASCII)
SUCCESSES = frozenset({200, 201, 202})

#: By the ``reason`` in the body of a 4xx.
REASONS: Mapping[str, Meaning] = {
    "invalid_destination": (OutcomeKind.PERMANENT, Reason.INVALID_DESTINATION),
    "opted_out": (OutcomeKind.PERMANENT, Reason.OPTED_OUT),
    "unroutable": (OutcomeKind.PERMANENT, Reason.UNROUTABLE),
    "policy_refused": (OutcomeKind.PERMANENT, Reason.POLICY_REFUSED),
    "content_refused": (OutcomeKind.PERMANENT, Reason.CONTENT_REFUSED),
    "message_too_large": (OutcomeKind.PERMANENT, Reason.MESSAGE_TOO_LARGE),
    "rate_limited": (OutcomeKind.THROTTLED, Reason.RATE_LIMITED),
    "provider_busy": (OutcomeKind.TRANSIENT, Reason.PROVIDER_BUSY),
    "authentication_failed": (OutcomeKind.MISCONFIGURED, Reason.AUTHENTICATION_FAILED),
    "account_suspended": (OutcomeKind.MISCONFIGURED, Reason.ACCOUNT_SUSPENDED),
    "sender_refused": (OutcomeKind.MISCONFIGURED, Reason.SENDER_REFUSED),
}


def read_reply(status: int, headers: Mapping[str, str], body: bytes, now: dt.datetime) -> Outcome:
    """The outcome of a complete reply; ``headers`` has lower-case names, ``now`` is aware."""
    value = json_object(body)
    if status in SUCCESSES:
        return accepted(value.get("id"), _ID)
    if 200 <= status < 300:
        return Outcome(kind=OutcomeKind.AMBIGUOUS, reason=Reason.UNREADABLE_REPLY)
    if status == 409:
        # The request with this key that came before is still under way.
        return Outcome(kind=OutcomeKind.AMBIGUOUS, reason=Reason.PROVIDER_BUSY)
    known = REASONS.get(str(value.get("reason"))) if 400 <= status < 500 else None
    return outcome(known or by_status(status), headers, now)
