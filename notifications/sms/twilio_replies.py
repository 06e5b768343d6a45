"""What an answer of Twilio's Messages resource means, as a table. Pure: standard library only.

Sources: the pages of Twilio's error dictionary (``twilio.com/docs/api/errors/<code>``), and
RFC 9110 section 15 for a status without a code. A 4xx is an answer: nothing was queued.
"""

from __future__ import annotations

import datetime as dt
import email.utils
import json
import re
from collections.abc import Mapping

from notifications.outcome import Outcome, OutcomeKind, Reason

_SID = re.compile(r"(?:SM|MM)[0-9a-f]{32}\Z", re.ASCII)

Meaning = tuple[OutcomeKind, Reason]

#: By the ``code`` of the error body.
CODES: Mapping[int, Meaning] = {
    # Too fast: not processed, safe to repeat.
    20429: (OutcomeKind.THROTTLED, Reason.RATE_LIMITED),
    21611: (OutcomeKind.THROTTLED, Reason.PROVIDER_BUSY),  # the sender's own queue is full
    30001: (OutcomeKind.THROTTLED, Reason.PROVIDER_BUSY),  # queue overflow
    # This number.
    21211: (OutcomeKind.PERMANENT, Reason.INVALID_DESTINATION),  # not a valid number
    21614: (OutcomeKind.PERMANENT, Reason.INVALID_DESTINATION),  # not a mobile number
    21635: (OutcomeKind.PERMANENT, Reason.INVALID_DESTINATION),  # a landline
    21610: (OutcomeKind.PERMANENT, Reason.OPTED_OUT),
    21408: (OutcomeKind.PERMANENT, Reason.UNROUTABLE),  # region not enabled
    21612: (OutcomeKind.PERMANENT, Reason.UNROUTABLE),  # no route from this sender
    # This text.
    21602: (OutcomeKind.PERMANENT, Reason.INVALID_MESSAGE),  # empty
    21617: (OutcomeKind.PERMANENT, Reason.MESSAGE_TOO_LARGE),  # over 1600 characters
    21624: (OutcomeKind.PERMANENT, Reason.INVALID_MESSAGE),  # validity period out of range
    # Our account: no message passes.
    20003: (OutcomeKind.MISCONFIGURED, Reason.AUTHENTICATION_FAILED),
    20404: (OutcomeKind.MISCONFIGURED, Reason.AUTHENTICATION_FAILED),  # no such account
    20005: (OutcomeKind.MISCONFIGURED, Reason.ACCOUNT_SUSPENDED),
    30002: (OutcomeKind.MISCONFIGURED, Reason.ACCOUNT_SUSPENDED),
    21603: (OutcomeKind.MISCONFIGURED, Reason.SENDER_REFUSED),  # no sender given
    21606: (OutcomeKind.MISCONFIGURED, Reason.SENDER_REFUSED),  # not a sender of ours
    21608: (OutcomeKind.MISCONFIGURED, Reason.SENDER_REFUSED),  # trial account
}

#: By HTTP status, where the code says nothing we know.
STATUSES: Mapping[int, Meaning] = {
    401: (OutcomeKind.MISCONFIGURED, Reason.AUTHENTICATION_FAILED),
    403: (OutcomeKind.MISCONFIGURED, Reason.AUTHENTICATION_FAILED),
    404: (OutcomeKind.MISCONFIGURED, Reason.AUTHENTICATION_FAILED),
    408: (OutcomeKind.TRANSIENT, Reason.PROVIDER_BUSY),
    413: (OutcomeKind.PERMANENT, Reason.MESSAGE_TOO_LARGE),
    429: (OutcomeKind.THROTTLED, Reason.RATE_LIMITED),
}


def read_reply(status: int, headers: Mapping[str, str], body: bytes, now: dt.datetime) -> Outcome:
    """The outcome of a complete reply; ``headers`` has lower-case names, ``now`` is aware."""
    if 200 <= status < 300:
        return _accepted(body)
    kind, reason = _refusal(status, body)
    if kind is not OutcomeKind.THROTTLED:
        return Outcome(kind=kind, reason=reason)
    delay = retry_after_seconds(headers.get("retry-after", ""), now)
    return Outcome(kind=kind, reason=reason, retry_after_seconds=delay)


def retry_after_seconds(value: str, now: dt.datetime) -> float | None:
    """A ``Retry-After`` header (RFC 9110 section 10.2.3) in seconds; ``None`` if there is none to trust."""
    text = value.strip()
    if re.fullmatch(r"[0-9]{1,6}", text, re.ASCII):
        return float(text)
    try:
        moment = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    return max(0.0, (moment - now).total_seconds())


def _accepted(body: bytes) -> Outcome:
    sid = _json_object(body).get("sid")
    if isinstance(sid, str) and _SID.match(sid):
        return Outcome(kind=OutcomeKind.ACCEPTED, provider_reference=sid)
    return Outcome(kind=OutcomeKind.AMBIGUOUS, reason=Reason.UNREADABLE_REPLY)


def _refusal(status: int, body: bytes) -> Meaning:
    if status >= 500:
        # It failed after reading the body: nobody knows at which point.
        return OutcomeKind.AMBIGUOUS, Reason.PROVIDER_ERROR
    if status < 400:
        # A redirect is not followed: it would carry credentials and a number elsewhere.
        return OutcomeKind.MISCONFIGURED, Reason.PROVIDER_ERROR
    code = _json_object(body).get("code")
    known = CODES.get(code) if isinstance(code, int) else None
    return known or STATUSES.get(status) or (OutcomeKind.PERMANENT, Reason.PROVIDER_ERROR)


def _json_object(body: bytes) -> dict[str, object]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
