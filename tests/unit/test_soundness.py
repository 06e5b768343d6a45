"""What is refused before any transport is asked, where none is."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Any

import pytest

from notifications.deadline import Deadline, boot_seconds
from notifications.email.smtp import SmtpTransport
from notifications.exceptions import InvalidMessage
from notifications.message import EmailMessage, SmsMessage
from notifications.outcome import OutcomeKind
from notifications.soundness import check_sound

NOON = dt.datetime(2030, 1, 31, 12, tzinfo=dt.UTC)
EMAIL = EmailMessage(
    to="anna@shop.example",
    subject="Reset",
    text="text",
    html="<p>text</p>",
    message_id="<1@shop.example>",
    date=NOON,
    boundary="=_1",
    expires_at=NOON + dt.timedelta(minutes=10),
)
SMS = SmsMessage(
    to="+4915112345678", text="text", segments=1, reference="r", key="k", expires_at=EMAIL.expires_at
)
UNSOUND = [
    ({"to": "jürgen@shop.example"}, "invalid_destination"),
    ({"to": "anna@shop@example"}, "invalid_destination"),
    ({"to": "anna@localhost"}, "invalid_destination"),
    ({"subject": "Reset\r\nBcc: eve@shop.example"}, "invalid_message"),
    ({"subject": "S" * 201}, "invalid_message"),
    ({"text": "a\x00b"}, "invalid_message"),
    ({"message_id": "<1@shop example>"}, "invalid_message"),
    ({"boundary": ""}, "invalid_message"),
]


@pytest.mark.parametrize(
    "message", [EMAIL, dataclasses.replace(EMAIL, to="anna@müller.example"), SMS], ids=["email", "idn", "sms"]
)
def test_what_can_be_sent_passes(message: Any) -> None:
    check_sound(message)


@pytest.mark.parametrize(("change", "reason"), UNSOUND)
def test_an_email_is_refused_with_the_reason_that_smtp_has(change: dict[str, Any], reason: str) -> None:
    message = dataclasses.replace(EMAIL, **change)
    with pytest.raises(InvalidMessage) as refused:
        check_sound(message)
    # Nobody listens there, and nobody is asked.
    transport = SmtpTransport(host="127.0.0.1", port=1, tls="none", from_address="shop@shop.example")
    outcome = transport.submit(message, Deadline(boot_seconds() + 5))
    assert (outcome.kind, outcome.reason) == (OutcomeKind.PERMANENT, refused.value.reason)
    assert refused.value.reason == reason


def test_a_text_message_to_what_is_no_number_is_refused() -> None:
    with pytest.raises(InvalidMessage) as refused:
        check_sound(dataclasses.replace(SMS, to="0151 12345678"))
    assert refused.value.reason == "invalid_destination"
