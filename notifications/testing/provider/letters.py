"""Stored submissions as a person reads them."""

from __future__ import annotations

import datetime as dt
import email
import email.policy
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import EmailMessage
from urllib.parse import parse_qs

from notifications.testing.provider.form import json_fields
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
    if submission.channel == "sms":
        return _read_sms(submission)
    fields = json_fields(submission.body)
    return _read_api_email(submission, fields) if fields else _read_email(submission)


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
    fields = json_fields(submission.body) or _form_fields(submission.body)
    return Letter(
        id=submission.id,
        channel="sms",
        sender=_first(fields, "From", "MessagingServiceSid", "from", "OriginationIdentity"),
        recipient=submission.recipient,
        subject="",
        text=_first(fields, "Body", "text", "MessageBody"),
        html="",
        source=submission.body.decode("latin-1").replace("&", "\n&"),
        received_at=_moment(submission),
    )


def _read_api_email(submission: Submission, fields: Mapping[str, object]) -> Letter:
    return Letter(
        id=submission.id,
        channel="email",
        sender=_first(fields, "From"),
        recipient=submission.recipient,
        subject=_first(fields, "Subject") or "(no subject)",
        text=_first(fields, "TextBody"),
        html=_first(fields, "HtmlBody"),
        source=submission.body.decode("utf-8", "replace"),
        received_at=_moment(submission),
    )


def _form_fields(body: bytes) -> dict[str, object]:
    return {name: values[0] for name, values in parse_qs(body.decode("latin-1")).items()}


def _first(fields: Mapping[str, object], *names: str) -> str:
    """The first of ``names`` that is there: each provider has its own."""
    return next((str(fields[name]) for name in names if fields.get(name)), "")


def _part(message: EmailMessage, subtype: str) -> str:
    part = message.get_body(preferencelist=(subtype,))
    return str(part.get_content()) if isinstance(part, EmailMessage) else ""


def _moment(submission: Submission) -> dt.datetime:
    return dt.datetime.fromtimestamp(submission.received_at, dt.UTC)
