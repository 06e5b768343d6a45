"""Messages for tests, with addresses and links that are easy to find again in a log."""

from __future__ import annotations

import datetime as dt
from typing import Any

from notifications.deadline import Deadline
from notifications.message import EmailMessage, SmsMessage

NOW = dt.datetime(2026, 11, 29, 12, 0, tzinfo=dt.UTC)
ADDRESS = "marked.person@example.com"
NUMBER = "+447911123456"
LINK = "https://shop.example/reset/MTIzNDU2Nzg/c0ffee-0123456789abcdef0123456789abcdef/"
MESSAGE_ID = "<5f0c1c9e7d5b4a0f8f3f3f0a2b1c4d5e@reset.shop.example>"


def an_email(**changes: Any) -> EmailMessage:
    """An email that is fine, apart from ``changes``."""
    values: dict[str, Any] = {
        "to": ADDRESS,
        "subject": "Reset your Marketplace password",
        "text": f"Open this link:\n\n{LINK}\n\nIt works for 9 minutes.\n",
        "html": f'<!doctype html><html><head></head><body><a href="{LINK}">Open</a></body></html>\n',
        "message_id": MESSAGE_ID,
        "date": NOW,
        "boundary": "boundary-5f0c1c9e",
        "expires_at": NOW + dt.timedelta(minutes=9),
    }
    return EmailMessage(**{**values, **changes})


def an_sms(**changes: Any) -> SmsMessage:
    """An SMS that is fine, apart from ``changes``."""
    values: dict[str, Any] = {
        "to": NUMBER,
        "text": f"Marketplace: reset your password\n{LINK}\nWorks for 9 minutes.",
        "segments": 1,
        "reference": "attempt-5f0c1c9e",
        "expires_at": NOW + dt.timedelta(minutes=9),
    }
    return SmsMessage(**{**values, **changes})


def soon() -> Deadline:
    """Long enough for anything that is not meant to be late."""
    return Deadline.after(10)
