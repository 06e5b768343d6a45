"""What came of a submission through django-anymail, from its status or its exception.

Sources: "Tracking sent mail status" (``anymail_status``) and "Exceptions" in anymail's
documentation (``anymail.dev/en/stable/sending``); RFC 9110 for an HTTP answer. The exceptions'
texts hold the whole message and answer: nothing of them leaves this module.
"""

from __future__ import annotations

import datetime as dt
import re
import socket
import ssl
from collections.abc import Iterator, Mapping

import requests
from anymail.exceptions import (
    AnymailAPIError,
    AnymailConfigurationError,
    AnymailInvalidAddress,
    AnymailRecipientsRefused,
    AnymailSerializationError,
    AnymailUnsupportedFeature,
)
from urllib3.exceptions import NewConnectionError

from notifications.deadline import DeadlinePassed
from notifications.failures import after_submit, before_submit
from notifications.http_replies import Meaning, by_status, outcome
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.sockets import ConnectFailed, PeerTimeout

_MESSAGE_ID = re.compile(r"[\x21-\x7e]{1,200}", re.ASCII)

#: By the status of the recipient, in words that are the same for every provider.
STATUSES: Mapping[str | None, Meaning] = {
    "sent": (OutcomeKind.ACCEPTED, Reason.OK),
    "queued": (OutcomeKind.ACCEPTED, Reason.OK),
    "invalid": (OutcomeKind.PERMANENT, Reason.INVALID_DESTINATION),
    # On the provider's own list of those who bounced or complained.
    "rejected": (OutcomeKind.PERMANENT, Reason.RECIPIENT_REFUSED),
    # "The attempt to send failed for some other reason."
    "failed": (OutcomeKind.TRANSIENT, Reason.PROVIDER_ERROR),
}
_UNREADABLE: Meaning = (OutcomeKind.AMBIGUOUS, Reason.UNREADABLE_REPLY)

#: Raised while the request is put together: certainly not sent.
PREPARATION: tuple[tuple[type[Exception], Meaning], ...] = (
    (AnymailInvalidAddress, (OutcomeKind.PERMANENT, Reason.INVALID_DESTINATION)),
    (AnymailSerializationError, (OutcomeKind.PERMANENT, Reason.INVALID_MESSAGE)),
    # An option that this provider's API does not have: no message passes.
    (AnymailUnsupportedFeature, (OutcomeKind.MISCONFIGURED, Reason.PROVIDER_ERROR)),
    (AnymailConfigurationError, (OutcomeKind.MISCONFIGURED, Reason.PROVIDER_ERROR)),
)

#: Of the causes of a failed connection, what :func:`before_submit` knows; requests wraps them.
_KNOWN_CAUSES: tuple[type[BaseException], ...] = (
    DeadlinePassed,
    PeerTimeout,
    socket.gaierror,
    ssl.SSLError,
    ConnectFailed,
)


def of_status(status: str | None, message_id: object) -> Outcome:
    """The outcome of a submission that ended without an exception."""
    kind, reason = STATUSES.get(status, _UNREADABLE)
    if kind is not OutcomeKind.ACCEPTED:
        return Outcome(kind=kind, reason=reason)
    reference = str(message_id) if _MESSAGE_ID.fullmatch(str(message_id)) else ""
    return Outcome(kind=kind, reason=reason, provider_reference=reference)


def of_exception(error: Exception, *, has_begun: bool, now: dt.datetime) -> Outcome:
    """The outcome of one that ended with ``error``; ``has_begun`` says whether the request went out."""
    if not has_begun:
        return _not_begun(error)
    if isinstance(error, AnymailRecipientsRefused):
        return Outcome(kind=OutcomeKind.PERMANENT, reason=Reason.RECIPIENT_REFUSED)
    status = error.status_code if isinstance(error, AnymailAPIError) else None
    if status is not None:
        return _answered(int(status), error, now)
    return _unanswered(error)


def _not_begun(error: Exception) -> Outcome:
    for failure, (kind, reason) in PREPARATION:
        if isinstance(error, failure):
            return Outcome(kind=kind, reason=reason)
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, _KNOWN_CAUSES):
            return before_submit(cause)  # type: ignore[arg-type]  # all of them are Exceptions
    if any(isinstance(cause, TimeoutError | requests.ConnectTimeout) for cause in causes):
        return before_submit(PeerTimeout())
    if any(isinstance(cause, NewConnectionError) for cause in causes):
        return before_submit(ConnectFailed())
    if isinstance(error, requests.ConnectionError):
        return before_submit(OSError())
    return Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.TRANSPORT_BUG)


def _answered(status: int, error: Exception, now: dt.datetime) -> Outcome:
    if 200 <= status < 300:
        return Outcome(kind=OutcomeKind.AMBIGUOUS, reason=Reason.UNREADABLE_REPLY)
    response = getattr(error, "response", None)
    headers = {name.lower(): value for name, value in getattr(response, "headers", {}).items()}
    return outcome(by_status(status), headers, now)


def _unanswered(error: Exception) -> Outcome:
    causes = list(_causes(error))
    if any(isinstance(cause, PeerTimeout | TimeoutError | requests.Timeout) for cause in causes):
        return after_submit(PeerTimeout())
    if isinstance(error, requests.ConnectionError | requests.exceptions.ChunkedEncodingError):
        return after_submit(OSError())
    return Outcome(kind=OutcomeKind.AMBIGUOUS, reason=Reason.UNREADABLE_REPLY)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """``error`` and what led to it, also where urllib3 keeps it in ``reason`` or an argument."""
    seen: set[int] = set()
    waiting: list[object] = [error]
    while waiting:
        one = waiting.pop(0)
        if not isinstance(one, BaseException) or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [one.__cause__, one.__context__, getattr(one, "reason", None), *one.args]
