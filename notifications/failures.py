"""Exceptions of the network, normalised to outcomes where they arise.

Their texts stay here: they quote addresses, replies and host names.
"""

from __future__ import annotations

import socket
import ssl

from notifications.deadline import DeadlinePassed
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.sockets import ConnectFailed, PeerTimeout

#: First match wins: the later classes are bases of the earlier ones.
_BEFORE_SUBMIT: tuple[tuple[type[Exception], OutcomeKind, Reason], ...] = (
    (DeadlinePassed, OutcomeKind.LATE, Reason.DEADLINE_PASSED),
    (PeerTimeout, OutcomeKind.TRANSIENT, Reason.TIMEOUT_BEFORE_SUBMIT),
    (socket.gaierror, OutcomeKind.TRANSIENT, Reason.DNS_FAILED),
    # Every message would fail on a certificate that we do not trust, so the channel waits.
    (ssl.SSLCertVerificationError, OutcomeKind.MISCONFIGURED, Reason.TLS_FAILED),
    (ssl.SSLError, OutcomeKind.TRANSIENT, Reason.TLS_FAILED),
    (ConnectFailed, OutcomeKind.TRANSIENT, Reason.CONNECT_FAILED),
    (OSError, OutcomeKind.TRANSIENT, Reason.DISCONNECTED_BEFORE_SUBMIT),
)


def before_submit(error: Exception) -> Outcome:
    """The outcome of a failure before the point of no return: certainly not sent."""
    for failure, kind, reason in _BEFORE_SUBMIT:
        if isinstance(error, failure):
            return Outcome(kind=kind, reason=reason)
    return Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.UNREADABLE_REPLY)


def after_submit(error: Exception) -> Outcome:
    """The outcome of a failure after it: the provider may have the message."""
    if isinstance(error, PeerTimeout):
        return Outcome(kind=OutcomeKind.AMBIGUOUS, reason=Reason.TIMEOUT_AFTER_SUBMIT)
    if isinstance(error, OSError):
        return Outcome(kind=OutcomeKind.AMBIGUOUS, reason=Reason.DISCONNECTED_AFTER_SUBMIT)
    return Outcome(kind=OutcomeKind.AMBIGUOUS, reason=Reason.UNREADABLE_REPLY)
