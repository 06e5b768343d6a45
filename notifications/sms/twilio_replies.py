"""What an answer of Twilio's Messages resource means, as a table. Pure: standard library only.

Sources: the pages of Twilio's error dictionary (``twilio.com/docs/api/errors/<code>``), and
RFC 9110 section 15 for a status without a code. A 4xx is an answer: nothing was queued.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping

from notifications.http_replies import Meaning, accepted, by_status, json_object, outcome
from notifications.outcome import Outcome, OutcomeKind, Reason

_SID = re.compile(r"(?:SM|MM)[0-9a-f]{32}", re.ASCII)

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

#: Where the code says nothing we know, and RFC 9110 would say something else: no such account.
STATUSES: Mapping[int, Meaning] = {404: (OutcomeKind.MISCONFIGURED, Reason.AUTHENTICATION_FAILED)}


def read_reply(status: int, headers: Mapping[str, str], body: bytes, now: dt.datetime) -> Outcome:
    """The outcome of a complete reply; ``headers`` has lower-case names, ``now`` is aware."""
    value = json_object(body)
    if 200 <= status < 300:
        return accepted(value.get("sid"), _SID)
    return outcome(_refusal(status, value.get("code")), headers, now)


def _refusal(status: int, code: object) -> Meaning:
    known = CODES.get(code) if isinstance(code, int) and 400 <= status < 500 else None
    return known or STATUSES.get(status) or by_status(status)
