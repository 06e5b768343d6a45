"""Rendered messages, as values that live only in memory.

Every field that is personal or secret is kept out of ``repr``.
"""

from __future__ import annotations

import datetime as dt
import enum
from dataclasses import dataclass, field
from typing import ClassVar


class MessageKind(enum.StrEnum):
    """What a message is about; the name of the folder of its templates."""

    RESET = "reset"
    SECURITY_NOTICE = "security_notice"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetContent:
    """What a template needs to know: the link, until when it works, and how long that is from now.

    ``remaining`` is rendered as a duration ("9 minutes"), never as a clock time.
    """

    kind: ClassVar[MessageKind] = MessageKind.RESET
    link: str = field(repr=False)
    expires_at: dt.datetime
    remaining: dt.timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeContent:
    """A message that the password was changed: no link, nothing that runs out.

    ``expires_at`` bounds queues on the way; no reader sees it.
    """

    kind: ClassVar[MessageKind] = MessageKind.SECURITY_NOTICE
    expires_at: dt.datetime


Content = ResetContent | NoticeContent


@dataclass(frozen=True, slots=True, kw_only=True)
class EmailMessage:
    """One rendered email to one recipient.

    ``message_id`` (with angle brackets), ``date`` and ``boundary`` are the same on every retry
    of a delivery, so that a second copy can be recognised as one. ``reference`` is the attempt's
    opaque reference; no part of what is sent but for a provider that tells it back in its receipts.
    """

    to: str = field(repr=False)
    subject: str = field(repr=False)
    text: str = field(repr=False)
    html: str = field(repr=False)
    message_id: str
    date: dt.datetime
    boundary: str
    expires_at: dt.datetime
    reference: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SmsMessage:
    """One rendered SMS to one E.164 number (with its plus sign).

    ``text`` is in NFC and takes ``segments`` segments; ``reference`` is the attempt's opaque
    reference, ``key`` is the same on every try of a delivery; ``expires_at`` bounds the
    provider's own queue.
    """

    to: str = field(repr=False)
    text: str = field(repr=False)
    segments: int
    reference: str
    expires_at: dt.datetime
    key: str = field(default="", compare=False)


Message = EmailMessage | SmsMessage
