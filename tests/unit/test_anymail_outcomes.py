"""What came of a submission through anymail, from its words and its exceptions."""

from __future__ import annotations

import socket
import ssl

import pytest
import requests
from anymail.exceptions import (
    AnymailAPIError,
    AnymailConfigurationError,
    AnymailInvalidAddress,
    AnymailRecipientsRefused,
    AnymailSerializationError,
    AnymailUnsupportedFeature,
)

from notifications.deadline import DeadlinePassed
from notifications.email.anymail_outcomes import of_exception, of_status
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.sockets import PeerTimeout
from tests.wire.samples import NOW


def caused(error: Exception, *causes: Exception) -> Exception:
    """``error`` with a chain of causes behind it."""
    last = error
    for cause in causes:
        last.__cause__ = cause
        last = cause
    return error


@pytest.mark.parametrize(
    ("status", "kind", "reason"),
    [
        ("invalid", OutcomeKind.PERMANENT, Reason.INVALID_DESTINATION),
        ("rejected", OutcomeKind.PERMANENT, Reason.RECIPIENT_REFUSED),
        ("failed", OutcomeKind.TRANSIENT, Reason.PROVIDER_ERROR),
        ("unknown", OutcomeKind.AMBIGUOUS, Reason.UNREADABLE_REPLY),
        (None, OutcomeKind.AMBIGUOUS, Reason.UNREADABLE_REPLY),
    ],
)
def test_a_recipients_status_that_is_no_success(
    status: str | None, kind: OutcomeKind, reason: Reason
) -> None:
    assert of_status(status, "id-1") == Outcome(kind=kind, reason=reason)


@pytest.mark.parametrize("status", ["sent", "queued"])
@pytest.mark.parametrize(
    ("message_id", "reference"),
    [("id-1", "id-1"), ("<a@b>", "<a@b>"), ("", ""), ("a b\n", ""), ("x" * 201, "")],
)
def test_a_success_carries_an_id_that_is_one(status: str, message_id: str, reference: str) -> None:
    assert of_status(status, message_id) == Outcome(kind=OutcomeKind.ACCEPTED, provider_reference=reference)


@pytest.mark.parametrize(
    ("error", "kind", "reason"),
    [
        (AnymailInvalidAddress("a@b"), OutcomeKind.PERMANENT, Reason.INVALID_DESTINATION),
        (AnymailSerializationError("x"), OutcomeKind.PERMANENT, Reason.INVALID_MESSAGE),
        (AnymailUnsupportedFeature("track_clicks"), OutcomeKind.MISCONFIGURED, Reason.PROVIDER_ERROR),
        (AnymailConfigurationError("x"), OutcomeKind.MISCONFIGURED, Reason.PROVIDER_ERROR),
        (DeadlinePassed(), OutcomeKind.LATE, Reason.DEADLINE_PASSED),
        (PeerTimeout(), OutcomeKind.TRANSIENT, Reason.TIMEOUT_BEFORE_SUBMIT),
        (requests.ConnectTimeout(), OutcomeKind.TRANSIENT, Reason.TIMEOUT_BEFORE_SUBMIT),
        (
            caused(requests.ConnectionError(), OSError(), socket.gaierror()),
            OutcomeKind.TRANSIENT,
            Reason.DNS_FAILED,
        ),
        (
            caused(requests.exceptions.SSLError(), ssl.SSLCertVerificationError()),
            OutcomeKind.MISCONFIGURED,
            Reason.TLS_FAILED,
        ),
        (caused(requests.exceptions.SSLError(), ssl.SSLError()), OutcomeKind.TRANSIENT, Reason.TLS_FAILED),
        (requests.ConnectionError(), OutcomeKind.TRANSIENT, Reason.DISCONNECTED_BEFORE_SUBMIT),
        (ZeroDivisionError(), OutcomeKind.TRANSIENT, Reason.TRANSPORT_BUG),
    ],
)
def test_what_goes_wrong_before_the_request_is_certainly_not_sent(
    error: Exception, kind: OutcomeKind, reason: Reason
) -> None:
    assert of_exception(error, has_begun=False, now=NOW) == Outcome(kind=kind, reason=reason)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (PeerTimeout(), Reason.TIMEOUT_AFTER_SUBMIT),
        (requests.ReadTimeout(), Reason.TIMEOUT_AFTER_SUBMIT),
        (caused(requests.ConnectionError(), TimeoutError()), Reason.TIMEOUT_AFTER_SUBMIT),
        (requests.ConnectionError(), Reason.DISCONNECTED_AFTER_SUBMIT),
        (requests.exceptions.ChunkedEncodingError(), Reason.DISCONNECTED_AFTER_SUBMIT),
        (AnymailAPIError("no status"), Reason.UNREADABLE_REPLY),
        (AnymailAPIError("cannot be read", status_code=200), Reason.UNREADABLE_REPLY),
        (ZeroDivisionError(), Reason.UNREADABLE_REPLY),
    ],
)
def test_what_goes_wrong_after_it_is_ambiguous(error: Exception, reason: Reason) -> None:
    outcome = of_exception(error, has_begun=True, now=NOW)
    assert outcome == Outcome(kind=OutcomeKind.AMBIGUOUS, reason=reason)


def test_every_recipient_refused_is_permanent() -> None:
    outcome = of_exception(AnymailRecipientsRefused(), has_begun=True, now=NOW)
    assert outcome == Outcome(kind=OutcomeKind.PERMANENT, reason=Reason.RECIPIENT_REFUSED)


def test_causes_that_lead_in_a_circle_come_to_an_end() -> None:
    first, second = requests.ConnectionError(), OSError()
    first.__context__, second.__context__ = second, first
    outcome = of_exception(first, has_begun=False, now=NOW)
    assert outcome.reason is Reason.DISCONNECTED_BEFORE_SUBMIT
