"""Stored submissions as a person reads them."""

from __future__ import annotations

import datetime as dt
import email
import email.policy
from dataclasses import dataclass
from email.message import EmailMessage
from urllib.parse import parse_qs

from notifications.testing.provider.store import Submission


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """An email or an SMS, decoded; ``html`` is empty for an SMS."""

    id: int
    channel: str
    sender: str
    recipient: str
    subject: str
    text: str
    html: str
    source: str
    received_at: dt.datetime


def read_letter(submission: Submission) -> Letter:
    """Decode what was submitted."""
    return _read_email(submission) if submission.channel == "email" else _read_sms(submission)


def _read_email(submission: Submission) -> Letter:
    message = email.message_from_bytes(submission.body, policy=email.policy.default)
    return Letter(
        id=submission.id,
        channel="email",
        sender=str(message["From"] or ""),
        recipient=submission.recipient,
        subject=str(message["Subject"] or "(no subject)"),
        text=_part(message, "plain"),
        html=_part(message, "html"),
        source=submission.body.decode("utf-8", "replace"),
        received_at=_moment(submission),
    )


def _read_sms(submission: Submission) -> Letter:
    form = {name: values[0] for name, values in parse_qs(submission.body.decode("latin-1")).items()}
    return Letter(
        id=submission.id,
        channel="sms",
        sender=form.get("From") or form.get("MessagingServiceSid", ""),
        recipient=submission.recipient,
        subject="",
        text=form.get("Body", ""),
        html="",
        source=submission.body.decode("latin-1").replace("&", "\n&"),
        received_at=_moment(submission),
    )


def _part(message: EmailMessage, subtype: str) -> str:
    part = message.get_body(preferencelist=(subtype,))
    return str(part.get_content()) if isinstance(part, EmailMessage) else ""


def _moment(submission: Submission) -> dt.datetime:
    return dt.datetime.fromtimestamp(submission.received_at, dt.UTC)
