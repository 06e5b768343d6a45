"""What HTTP itself says about a submission, as a table. Pure: standard library only.

Source: RFC 9110, section 15 (status codes) and 10.2.3 (``Retry-After``); RFC 6585, section 4
(429). For a provider whose own code says nothing that we know. A 4xx is an answer: nothing was
queued.
"""

from __future__ import annotations

import datetime as dt
import email.utils
import json
import re
from collections.abc import Mapping

from notifications.outcome import Outcome, OutcomeKind, Reason

Meaning = tuple[OutcomeKind, Reason]

STATUSES: Mapping[int, Meaning] = {
    401: (OutcomeKind.MISCONFIGURED, Reason.AUTHENTICATION_FAILED),  # 15.5.2
    402: (OutcomeKind.MISCONFIGURED, Reason.ACCOUNT_SUSPENDED),  # 15.5.3
    403: (OutcomeKind.MISCONFIGURED, Reason.AUTHENTICATION_FAILED),  # 15.5.4
    404: (OutcomeKind.MISCONFIGURED, Reason.PROVIDER_ERROR),  # 15.5.5: the address is ours to set
    405: (OutcomeKind.MISCONFIGURED, Reason.PROVIDER_ERROR),  # 15.5.6
    408: (OutcomeKind.TRANSIENT, Reason.PROVIDER_BUSY),  # 15.5.9: never had the whole request
    410: (OutcomeKind.MISCONFIGURED, Reason.PROVIDER_ERROR),  # 15.5.11
    413: (OutcomeKind.PERMANENT, Reason.MESSAGE_TOO_LARGE),  # 15.5.14
    415: (OutcomeKind.MISCONFIGURED, Reason.PROVIDER_ERROR),  # 15.5.16
    421: (OutcomeKind.TRANSIENT, Reason.PROVIDER_ERROR),  # 15.5.20
    429: (OutcomeKind.THROTTLED, Reason.RATE_LIMITED),  # RFC 6585, 4
}


def by_status(status: int) -> Meaning:
    """The meaning of a status that is no success."""
    if status >= 500:
        # It failed after reading the body: nobody knows at which point.
        return OutcomeKind.AMBIGUOUS, Reason.PROVIDER_ERROR
    if status < 400:
        # A redirect is not followed: it would carry credentials and a number elsewhere.
        return OutcomeKind.MISCONFIGURED, Reason.PROVIDER_ERROR
    return STATUSES.get(status, (OutcomeKind.PERMANENT, Reason.PROVIDER_ERROR))


def outcome(meaning: Meaning, headers: Mapping[str, str], now: dt.datetime) -> Outcome:
    """``meaning``, with the provider's own delay where it sends us away for being too fast.

    ``headers`` has lower-case names, ``now`` is aware.
    """
    kind, reason = meaning
    if kind is not OutcomeKind.THROTTLED:
        return Outcome(kind=kind, reason=reason)
    delay = retry_after_seconds(headers.get("retry-after", ""), now)
    return Outcome(kind=kind, reason=reason, retry_after_seconds=delay)


def accepted(reference: object, form: re.Pattern[str]) -> Outcome:
    """ACCEPTED under the provider's own id; without one of its ``form``, nobody can tell."""
    if isinstance(reference, str) and form.fullmatch(reference):
        return Outcome(kind=OutcomeKind.ACCEPTED, provider_reference=reference)
    return Outcome(kind=OutcomeKind.AMBIGUOUS, reason=Reason.UNREADABLE_REPLY)


def retry_after_seconds(value: str, now: dt.datetime) -> float | None:
    """A ``Retry-After`` header in seconds; ``None`` if there is none to trust."""
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


def json_object(body: bytes) -> dict[str, object]:
    """The JSON object in ``body``, empty if it holds none."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
