"""The table of Vonage's answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.sms.vonage_replies import PART_STATUSES, read_reply
from tests.wire.samples import NOW

ID = "0A0000000123ABCD1"
TAKEN = {"status": "0", "message-id": ID}


def read(*parts: Any, status: int = 200, retry_after: str = "") -> Outcome:
    said = {"message-count": str(len(parts)), "messages": list(parts)}
    return read_reply(status, {"retry-after": retry_after}, json.dumps(said).encode(), NOW)


def refused(status: str) -> dict[str, str]:
    return {"status": status, "error-text": "words of the provider"}


@pytest.mark.parametrize("status", PART_STATUSES)
def test_every_part_refused_for_one_reason_means_what_the_table_says(status: str) -> None:
    outcome = read(refused(status), refused(status))
    assert (outcome.kind, outcome.reason) == PART_STATUSES[status]


@pytest.mark.parametrize(
    ("status", "kind", "reason"),
    [
        ("1", OutcomeKind.THROTTLED, Reason.RATE_LIMITED),
        ("2", OutcomeKind.PERMANENT, Reason.INVALID_MESSAGE),
        ("3", OutcomeKind.PERMANENT, Reason.INVALID_MESSAGE),
        ("4", OutcomeKind.MISCONFIGURED, Reason.AUTHENTICATION_FAILED),
        ("5", OutcomeKind.AMBIGUOUS, Reason.PROVIDER_ERROR),
        ("6", OutcomeKind.PERMANENT, Reason.UNROUTABLE),
        ("7", OutcomeKind.PERMANENT, Reason.POLICY_REFUSED),
        ("8", OutcomeKind.MISCONFIGURED, Reason.ACCOUNT_SUSPENDED),
        ("9", OutcomeKind.MISCONFIGURED, Reason.ACCOUNT_SUSPENDED),
        ("15", OutcomeKind.PERMANENT, Reason.SENDER_REFUSED),
        ("999", OutcomeKind.PERMANENT, Reason.PROVIDER_ERROR),
    ],
)
def test_a_status_means_what_vonage_documents(status: str, kind: OutcomeKind, reason: Reason) -> None:
    assert read(refused(status)) == Outcome(kind=kind, reason=reason)


def test_every_part_taken_is_accepted_under_the_first_id() -> None:
    outcome = read(TAKEN, {"status": "0", "message-id": "second"})
    assert outcome == Outcome(kind=OutcomeKind.ACCEPTED, provider_reference=ID)


@pytest.mark.parametrize("status", [*PART_STATUSES, "999"])
def test_one_part_taken_and_one_refused_is_ambiguous_in_any_order(status: str) -> None:
    for parts in ((TAKEN, refused(status)), (refused(status), TAKEN)):
        assert read(*parts) == Outcome(kind=OutcomeKind.AMBIGUOUS, reason=Reason.PROVIDER_ERROR)


def test_of_several_refusals_the_doubtful_one_decides_and_otherwise_the_first() -> None:
    assert read(refused("6"), refused("5")).kind is OutcomeKind.AMBIGUOUS
    assert read(refused("6"), refused("1")).reason is Reason.UNROUTABLE


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"\xff",
        b'{"message-count": "1"}',
        b'{"message-count": "1", "messages": {}}',
        b'{"message-count": "1", "messages": ["0"]}',
        b'{"message-count": "0", "messages": []}',
        b'{"message-count": "2", "messages": [{"status": "0", "message-id": "a"}]}',
        b'{"message-count": "1", "messages": [{"status": 0, "message-id": "a"}]}',
        b'{"message-count": "1", "messages": [{"message-id": "a"}]}',
        b'{"message-count": "1", "messages": [{"status": "0"}]}',
        b'{"message-count": "1", "messages": [{"status": "0", "message-id": "<b>"}]}',
    ],
)
def test_a_success_that_cannot_be_read_is_ambiguous(body: bytes) -> None:
    assert read_reply(200, {}, body, NOW) == Outcome(
        kind=OutcomeKind.AMBIGUOUS, reason=Reason.UNREADABLE_REPLY
    )


def test_a_throttled_part_has_the_providers_delay_where_it_gives_one() -> None:
    assert read(refused("1"), retry_after="3").retry_after_seconds == 3.0
    assert read(refused("1")).retry_after_seconds is None


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (302, OutcomeKind.MISCONFIGURED),
        (401, OutcomeKind.MISCONFIGURED),
        (429, OutcomeKind.THROTTLED),
        (400, OutcomeKind.PERMANENT),
        (503, OutcomeKind.AMBIGUOUS),
    ],
)
def test_a_refusal_by_http_is_read_before_any_part(status: int, kind: OutcomeKind) -> None:
    assert read(TAKEN, status=status).kind is kind
