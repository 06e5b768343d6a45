"""The table of AWS's answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.sms.aws_replies import ERRORS, read_reply
from tests.wire.samples import NOW

NAMESPACE = "com.amazonaws.pinpointsmsvoicev2#"
ID = "7ca1d2a0-4b7b-4f7b-9d2c-0a1b2c3d4e5f"


def read(name: str, *, status: int = 400, headers: dict[str, str] | None = None, **details: Any) -> Outcome:
    body = json.dumps({"__type": NAMESPACE + name, "Message": "words of the provider", **details})
    return read_reply(status, headers or {}, body.encode(), NOW)


@pytest.mark.parametrize(("name", "reason"), ERRORS)
def test_a_known_error_with_its_reason_means_what_the_table_says(name: str, reason: str) -> None:
    outcome = read(name, Reason=reason)
    assert (outcome.kind, outcome.reason) == ERRORS[(name, reason)]


@pytest.mark.parametrize(
    ("name", "reason", "expected"),
    [
        ("ThrottlingException", None, (OutcomeKind.THROTTLED, Reason.RATE_LIMITED)),
        ("InternalServerException", None, (OutcomeKind.AMBIGUOUS, Reason.PROVIDER_ERROR)),
        (
            "ConflictException",
            "DESTINATION_PHONE_NUMBER_OPTED_OUT",
            (OutcomeKind.PERMANENT, Reason.OPTED_OUT),
        ),
        ("ConflictException", "A_REASON_OF_TOMORROW", (OutcomeKind.PERMANENT, Reason.PROVIDER_ERROR)),
        ("ValidationException", "A_REASON_OF_TOMORROW", (OutcomeKind.PERMANENT, Reason.INVALID_MESSAGE)),
        ("ValidationException", 7, (OutcomeKind.PERMANENT, Reason.INVALID_MESSAGE)),
        ("AccessDeniedException", None, (OutcomeKind.MISCONFIGURED, Reason.AUTHENTICATION_FAILED)),
        ("AccessDeniedException", "ACCOUNT_DISABLED", (OutcomeKind.MISCONFIGURED, Reason.ACCOUNT_SUSPENDED)),
        ("ServiceQuotaExceededException", None, (OutcomeKind.MISCONFIGURED, Reason.ACCOUNT_SUSPENDED)),
        ("ResourceNotFoundException", None, (OutcomeKind.MISCONFIGURED, Reason.SENDER_REFUSED)),
        ("InvalidSignatureException", None, (OutcomeKind.MISCONFIGURED, Reason.AUTHENTICATION_FAILED)),
        ("AnErrorOfTomorrow", None, (OutcomeKind.PERMANENT, Reason.PROVIDER_ERROR)),
    ],
)
def test_an_error_means_what_aws_documents(
    name: str, reason: object, expected: tuple[OutcomeKind, Reason]
) -> None:
    details: dict[str, Any] = {} if reason is None else {"Reason": reason}
    assert read(name, **details) == Outcome(kind=expected[0], reason=expected[1])


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ([{"Name": "DestinationPhoneNumber", "Message": "x"}], Reason.INVALID_DESTINATION),
        ([{"Name": "MessageBody"}], Reason.INVALID_MESSAGE),
        (["DestinationPhoneNumber"], Reason.INVALID_MESSAGE),
        ({"Name": "DestinationPhoneNumber"}, Reason.INVALID_MESSAGE),
        (None, Reason.INVALID_MESSAGE),
    ],
)
def test_a_request_whose_number_is_wrong_has_an_invalid_destination(fields: object, reason: Reason) -> None:
    outcome = read("ValidationException", Reason="FIELD_VALIDATION_FAILED", Fields=fields)
    assert outcome == Outcome(kind=OutcomeKind.PERMANENT, reason=reason)


@pytest.mark.parametrize(
    "written",
    [
        "ThrottlingException",
        "ThrottlingException:http://internal.amazon.com/coral/",
        "a.b#ThrottlingException",
    ],
)
def test_the_error_may_be_named_in_a_header(written: str) -> None:
    outcome = read_reply(400, {"x-amzn-errortype": written, "retry-after": "2"}, b"", NOW)
    assert outcome == Outcome(kind=OutcomeKind.THROTTLED, reason=Reason.RATE_LIMITED, retry_after_seconds=2.0)


def test_a_success_with_an_id_is_accepted() -> None:
    outcome = read_reply(200, {}, json.dumps({"MessageId": ID}).encode(), NOW)
    assert outcome == Outcome(kind=OutcomeKind.ACCEPTED, provider_reference=ID)


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"MessageId": 5}', b'{"MessageId": "<b>"}'])
def test_a_success_without_an_id_is_ambiguous(body: bytes) -> None:
    assert read_reply(200, {}, body, NOW).reason is Reason.UNREADABLE_REPLY


def test_a_server_error_is_ambiguous_whatever_its_name() -> None:
    kinds = {read("ThrottlingException", status=status).kind for status in (500, 502, 503, 504)}
    assert kinds == {OutcomeKind.AMBIGUOUS}


@pytest.mark.parametrize(("status", "kind"), [(403, OutcomeKind.MISCONFIGURED), (400, OutcomeKind.PERMANENT)])
def test_without_a_name_the_status_decides(status: int, kind: OutcomeKind) -> None:
    assert read_reply(status, {}, b"<html>", NOW).kind is kind
