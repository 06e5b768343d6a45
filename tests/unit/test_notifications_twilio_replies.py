"""The table of Twilio's answers."""

from __future__ import annotations

import datetime as dt
import json

import pytest

from notifications.http_replies import STATUSES as HTTP_STATUSES
from notifications.http_replies import retry_after_seconds
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.sms.twilio_replies import CODES, STATUSES, read_reply
from tests.wire.samples import NOW

BY_STATUS: dict[int, tuple[OutcomeKind, Reason]] = {**HTTP_STATUSES, **STATUSES}
SID = "SM0123456789abcdef0123456789abcdef"


def read(status: int, value: object = None, **headers: str) -> Outcome:
    return read_reply(status, headers, json.dumps(value).encode(), NOW)


@pytest.mark.parametrize("code", CODES)
def test_a_known_code_decides_over_the_status(code: int) -> None:
    outcome = read(400, {"code": code})
    assert (outcome.kind, outcome.reason) == CODES[code]


@pytest.mark.parametrize("status", BY_STATUS)
@pytest.mark.parametrize("body", [None, [], "text", {"code": 1}, {"code": "21211"}, {"code": None}])
def test_without_a_known_code_the_status_decides(status: int, body: object) -> None:
    outcome = read(status, body)
    assert (outcome.kind, outcome.reason) == BY_STATUS[status]


@pytest.mark.parametrize(
    ("code", "kind", "reason"),
    [
        (21211, OutcomeKind.PERMANENT, Reason.INVALID_DESTINATION),
        (21614, OutcomeKind.PERMANENT, Reason.INVALID_DESTINATION),
        (21635, OutcomeKind.PERMANENT, Reason.INVALID_DESTINATION),
        (21610, OutcomeKind.PERMANENT, Reason.OPTED_OUT),
        (21408, OutcomeKind.PERMANENT, Reason.UNROUTABLE),
        (21612, OutcomeKind.PERMANENT, Reason.UNROUTABLE),
        (21617, OutcomeKind.PERMANENT, Reason.MESSAGE_TOO_LARGE),
        (20003, OutcomeKind.MISCONFIGURED, Reason.AUTHENTICATION_FAILED),
        (30002, OutcomeKind.MISCONFIGURED, Reason.ACCOUNT_SUSPENDED),
        (21606, OutcomeKind.MISCONFIGURED, Reason.SENDER_REFUSED),
        (21608, OutcomeKind.MISCONFIGURED, Reason.SENDER_REFUSED),
        (20429, OutcomeKind.THROTTLED, Reason.RATE_LIMITED),
        (99999, OutcomeKind.PERMANENT, Reason.PROVIDER_ERROR),
    ],
)
def test_a_code_means_what_twilio_documents(code: int, kind: OutcomeKind, reason: Reason) -> None:
    assert read(400, {"code": code}) == Outcome(kind=kind, reason=reason)


@pytest.mark.parametrize("status", [200, 201, 202])
def test_a_success_with_a_sid_is_accepted(status: int) -> None:
    assert read(status, {"sid": SID}) == Outcome(kind=OutcomeKind.ACCEPTED, provider_reference=SID)


@pytest.mark.parametrize(
    "body", [None, {}, [], {"sid": None}, {"sid": 5}, {"sid": SID + "\n"}, {"sid": "XX" + SID[2:]}]
)
def test_a_success_without_a_sid_is_ambiguous(body: object) -> None:
    assert read(201, body) == Outcome(kind=OutcomeKind.AMBIGUOUS, reason=Reason.UNREADABLE_REPLY)


def test_a_server_error_is_ambiguous_whatever_its_code() -> None:
    kinds = {read(status, {"code": 21211}).kind for status in range(500, 600)}
    assert kinds == {OutcomeKind.AMBIGUOUS}


def test_a_body_that_is_no_text_is_read_with_care() -> None:
    assert read_reply(400, {}, b"\xff\xfe{", NOW).kind is OutcomeKind.PERMANENT


def test_only_a_throttled_answer_carries_a_delay() -> None:
    assert read(429, None, **{"retry-after": "12"}).retry_after_seconds == 12.0
    assert read(401, None, **{"retry-after": "12"}).retry_after_seconds is None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("120", 120.0),
        (" 7 ", 7.0),
        ("Sun, 29 Nov 2026 12:00:30 GMT", 30.0),
        ("Sun, 29 Nov 2026 11:00:00 GMT", 0.0),
        ("", None),
        ("-5", None),
        ("1.5", None),
        ("9999999", None),
        ("٣", None),
        ("soon", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str, seconds: float | None) -> None:
    assert retry_after_seconds(value, NOW) == seconds


def test_a_date_without_a_zone_is_read_as_utc() -> None:
    assert retry_after_seconds("Sun, 29 Nov 2026 12:00:30 -0000", NOW) == 30.0
    assert NOW.tzinfo is dt.UTC
