"""What an answer of Vonage's SMS API means, as a table. Pure: standard library only.

Source of every row: ``developer.vonage.com/en/api-errors/sms``. A refusal comes with HTTP 200;
there is one ``status`` for each part of the message.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping

from notifications.http_replies import Meaning, accepted, by_status, json_object, outcome
from notifications.outcome import Outcome, OutcomeKind, Reason

_MESSAGE_ID = re.compile(r"[0-9A-Za-z-]{1,64}", re.ASCII)
_ACCEPTED = "0"
_UNREADABLE: Meaning = (OutcomeKind.AMBIGUOUS, Reason.UNREADABLE_REPLY)

#: By the ``status`` of a part.
PART_STATUSES: Mapping[str, Meaning] = {
    # Too fast: certainly not taken.
    "1": (OutcomeKind.THROTTLED, Reason.RATE_LIMITED),
    "10": (OutcomeKind.THROTTLED, Reason.PROVIDER_BUSY),  # too many existing binds: back off
    # "Whilst processing this message": nobody knows at which point.
    "5": (OutcomeKind.AMBIGUOUS, Reason.PROVIDER_ERROR),
    # This number.
    "6": (OutcomeKind.PERMANENT, Reason.UNROUTABLE),  # such as an unrecognised number prefix
    "7": (OutcomeKind.PERMANENT, Reason.POLICY_REFUSED),  # number barred
    "22": (OutcomeKind.PERMANENT, Reason.UNROUTABLE),  # invalid network code
    "33": (OutcomeKind.PERMANENT, Reason.RECIPIENT_REFUSED),  # number de-activated
    # Invalid sender address: it depends on the country written to, so it is no reason to pause.
    "15": (OutcomeKind.PERMANENT, Reason.SENDER_REFUSED),
    # This request.
    "2": (OutcomeKind.PERMANENT, Reason.INVALID_MESSAGE),  # missing parameters
    "3": (OutcomeKind.PERMANENT, Reason.INVALID_MESSAGE),  # invalid parameters
    "12": (OutcomeKind.PERMANENT, Reason.MESSAGE_TOO_LARGE),
    # Our account: no message passes.
    "4": (OutcomeKind.MISCONFIGURED, Reason.AUTHENTICATION_FAILED),  # invalid credentials
    "8": (OutcomeKind.MISCONFIGURED, Reason.ACCOUNT_SUSPENDED),  # partner account barred
    "9": (OutcomeKind.MISCONFIGURED, Reason.ACCOUNT_SUSPENDED),  # no credit left
    "11": (OutcomeKind.MISCONFIGURED, Reason.ACCOUNT_SUSPENDED),  # account not enabled for HTTP
    "14": (OutcomeKind.MISCONFIGURED, Reason.AUTHENTICATION_FAILED),  # invalid signature
    "23": (OutcomeKind.MISCONFIGURED, Reason.PROVIDER_ERROR),  # invalid callback address
    "29": (OutcomeKind.MISCONFIGURED, Reason.SENDER_REFUSED),  # trial account: listed numbers only
    "32": (OutcomeKind.MISCONFIGURED, Reason.AUTHENTICATION_FAILED),  # signature and secret at once
}


def read_reply(status: int, headers: Mapping[str, str], body: bytes, now: dt.datetime) -> Outcome:
    """The outcome of a complete reply; ``headers`` has lower-case names, ``now`` is aware."""
    if not 200 <= status < 300:
        return outcome(by_status(status), headers, now)
    parts = _parts(body)
    statuses = [part.get("status") for part in parts]
    if statuses and all(one == _ACCEPTED for one in statuses):
        return accepted(parts[0].get("message-id"), _MESSAGE_ID)
    return outcome(_refusal(statuses), headers, now)


def _refusal(statuses: list[object]) -> Meaning:
    """Some part was refused: what became of the whole message."""
    if not statuses or not all(isinstance(one, str) for one in statuses):
        return _UNREADABLE
    if _ACCEPTED in statuses:
        # Some of it may be on its way.
        return OutcomeKind.AMBIGUOUS, Reason.PROVIDER_ERROR
    meanings = [_meaning(str(one)) for one in statuses]
    doubtful = (meaning for meaning in meanings if meaning[0] is OutcomeKind.AMBIGUOUS)
    return next(doubtful, meanings[0])


def _meaning(status: str) -> Meaning:
    return PART_STATUSES.get(status, (OutcomeKind.PERMANENT, Reason.PROVIDER_ERROR))


def _parts(body: bytes) -> list[dict[str, object]]:
    """Every part, empty unless all of them, as many as announced, can be read."""
    reply = json_object(body)
    parts = reply.get("messages")
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        return []
    return parts if str(reply.get("message-count")) == str(len(parts)) else []
