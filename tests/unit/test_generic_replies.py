"""The tables of the generic form's answers, and of HTTP's own."""

from __future__ import annotations

import json

import pytest

from notifications.http_replies import STATUSES, by_status, retry_after_seconds
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.sms.generic_replies import REASONS, SUCCESSES, read_reply
from tests.wire.samples import NOW


def read(status: int, value: object = None, **headers: str) -> Outcome:
    return read_reply(status, headers, json.dumps(value).encode(), NOW)


@pytest.mark.parametrize("reason", REASONS)
def test_a_known_reason_decides_over_the_status(reason: str) -> None:
    outcome = read(400, {"reason": reason})
    assert (outcome.kind, outcome.reason) == REASONS[reason]


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("body", [None, [], "opted_out", {"reason": "new"}, {"reason": 5}, {"reason": ["x"]}])
def test_without_a_known_reason_the_status_decides(status: int, body: object) -> None:
    outcome = read(status, body)
    assert (outcome.kind, outcome.reason) == STATUSES[status]


@pytest.mark.parametrize("status", sorted(SUCCESSES))
def test_a_success_with_an_id_is_accepted(status: int) -> None:
    assert read(status, {"id": "m-1"}) == Outcome(kind=OutcomeKind.ACCEPTED, provider_reference="m-1")


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, None),
        (200, {}),
        (201, {"id": 5}),
        (202, {"id": ""}),
        (202, {"id": "a b"}),
        (202, {"id": "x" * 129}),
        (204, {"id": "m-1"}),
    ],
)
def test_a_success_that_is_not_as_documented_is_ambiguous(status: int, body: object) -> None:
    assert read(status, body) == Outcome(kind=OutcomeKind.AMBIGUOUS, reason=Reason.UNREADABLE_REPLY)


def test_a_key_that_is_still_under_way_is_ambiguous() -> None:
    assert read(409, {"reason": "opted_out"}) == Outcome(
        kind=OutcomeKind.AMBIGUOUS, reason=Reason.PROVIDER_BUSY
    )


def test_a_server_error_is_ambiguous_whatever_its_reason() -> None:
    kinds = {read(status, {"reason": "opted_out"}).kind for status in range(500, 600)}
    assert kinds == {OutcomeKind.AMBIGUOUS}


def test_too_fast_carries_the_delay() -> None:
    assert read(429, None, **{"retry-after": "9"}).retry_after_seconds == 9.0
    assert read(400, {"reason": "rate_limited"}, **{"retry-after": "9"}).retry_after_seconds == 9.0
    assert read(401, None, **{"retry-after": "9"}).retry_after_seconds is None


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (100, OutcomeKind.MISCONFIGURED),
        (307, OutcomeKind.MISCONFIGURED),
        (400, OutcomeKind.PERMANENT),
        (418, OutcomeKind.PERMANENT),
        (500, OutcomeKind.AMBIGUOUS),
        (599, OutcomeKind.AMBIGUOUS),
    ],
)
def test_a_status_outside_the_table_is_read_by_its_class(status: int, kind: OutcomeKind) -> None:
    assert by_status(status)[0] is kind


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        (" 7 ", 7.0),
        ("Sun, 29 Nov 2026 12:00:30 GMT", 30.0),
        ("Sun, 29 Nov 2026 12:00:30 -0000", 30.0),
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
