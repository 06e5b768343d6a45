"""A rendered email as the bytes that go over the wire: the same message, the same bytes.

What is built is 7-bit clean, so that no relay re-encodes it, with CRLF line ends and no line
over 998 octets (RFC 5322 section 2.1.1). Headers are written as text: each value was matched
against its own grammar first, and the general classes of the standard library take a
millisecond a message to come to the same bytes.
"""

from __future__ import annotations

import base64
import datetime as dt
import email.policy
import re
from dataclasses import dataclass
from email import quoprimime
from email.headerregistry import Address
from email.utils import format_datetime

from notifications.email.addresses import ascii_domain, is_envelope_address
from notifications.email.headers import from_header, subject_header
from notifications.exceptions import InvalidMessage
from notifications.message import EmailMessage
from notifications.outcome import Reason

POLICY = email.policy.SMTP.clone(cte_type="7bit")
CRLF = "\r\n"
NEWLINE = "\n"
MAX_LINE_OCTETS = 998
MAX_SUBJECT_CHARACTERS = 200

#: RFC 5322 section 3.6.4, dot-atom form; short enough never to be folded.
_MESSAGE_ID = re.compile(r"<[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+@[A-Za-z0-9.-]+>\Z", re.ASCII)
_MAX_MESSAGE_ID = 200
#: RFC 2046 section 5.1.1, without the space.
_BOUNDARY = re.compile(r"[A-Za-z0-9'()+_,./:=?-]{1,70}\Z", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_TEXT_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """Who a message is from: the mailbox for the envelope, and the folded From header."""

    address: str
    header: str


def build_mime(message: EmailMessage, sender: Sender) -> bytes:
    """``message`` from ``sender`` as RFC 5322 bytes, ready for dot-stuffing.

    Raises :class:`InvalidMessage` for anything that could change the meaning of a header, an
    address that is not plain ASCII, or a naive date.
    """
    check_message(message)
    head = (
        f"{sender.header}"
        f"To: {message.to}\r\n"
        f"{subject_header(message.subject)}"
        f"Date: {_header_date(message.date)}\r\n"
        f"Message-ID: {message.message_id}\r\n"
        f"Expires: {_header_date(message.expires_at)}\r\n"
        "Auto-Submitted: auto-generated\r\n"
        "X-Auto-Response-Suppress: All\r\n"
        "MIME-Version: 1.0\r\n"
        f'Content-Type: multipart/alternative; boundary="{message.boundary}"\r\n'
    )
    parts = (_part("plain", message.text), _part("html", message.html))
    body = "".join(f"\r\n--{message.boundary}\r\n{part}" for part in parts)
    return f"{head}{body}\r\n--{message.boundary}--\r\n".encode("ascii")


def parse_sender(from_address: str) -> Sender:
    """The one mailbox in ``no-reply@shop.example`` or ``Shop <no-reply@shop.example>``.

    An internationalised domain becomes A-labels. Raises ``ValueError``, without the value, if it
    is not exactly one mailbox that is ASCII before the @.
    """
    if _CONTROL.search(from_address):
        raise ValueError("it holds a control character")
    header = POLICY.header_factory("From", from_address)
    addresses: tuple[Address, ...] = getattr(header, "addresses", ())
    if header.defects or len(addresses) != 1:
        raise ValueError("it is not exactly one mailbox")
    (written,) = addresses
    mailbox = f"{written.addr_spec.rpartition('@')[0]}@{ascii_domain(written.domain)}"
    if not is_envelope_address(mailbox):
        raise ValueError("it is not exactly one mailbox")
    return Sender(address=mailbox, header=from_header(written.display_name, mailbox))


def check_message(message: EmailMessage) -> None:
    """What :func:`build_mime` asks of a message but its dates; raises :class:`InvalidMessage`."""
    if not is_envelope_address(message.to):
        raise InvalidMessage(Reason.INVALID_DESTINATION)
    is_sound = (
        0 < len(message.subject.strip()) <= MAX_SUBJECT_CHARACTERS
        and not _CONTROL.search(message.subject)
        and len(message.message_id) <= _MAX_MESSAGE_ID
        and _MESSAGE_ID.match(message.message_id)
        and _BOUNDARY.match(message.boundary)
        and _is_sound_text(message.text, message.boundary)
        and _is_sound_text(message.html, message.boundary)
    )
    if not is_sound:
        raise InvalidMessage(Reason.INVALID_MESSAGE)


def _is_sound_text(text: str, boundary: str) -> bool:
    return not _TEXT_CONTROL.search(text) and f"--{boundary}" not in text


def _header_date(moment: dt.datetime) -> str:
    if moment.tzinfo is None:
        raise InvalidMessage(Reason.INVALID_MESSAGE)
    return format_datetime(moment.astimezone(dt.UTC).replace(microsecond=0))


def _part(subtype: str, text: str) -> str:
    encoding = _transfer_encoding(text)
    return (
        f'Content-Type: text/{subtype}; charset="utf-8"\r\n'
        f"Content-Transfer-Encoding: {encoding}\r\n"
        f"\r\n"
        f"{_encode(text.replace(NEWLINE, CRLF), encoding)}"
    )


def _encode(text: str, encoding: str) -> str:
    if encoding == "base64":
        return base64.encodebytes(text.encode()).decode("ascii").replace(NEWLINE, CRLF)
    if encoding == "quoted-printable":
        return quoprimime.body_encode(text.encode().decode("latin-1"), eol=CRLF)
    return text


def _transfer_encoding(text: str) -> str:
    """``7bit`` where it can be, so that a link stays whole in the source; else what is shorter."""
    encoded = text.encode()
    if text.isascii():
        longest = max(map(len, encoded.splitlines()), default=0)
        return "7bit" if longest <= MAX_LINE_OCTETS else "quoted-printable"
    # Quoted-printable triples each non-ASCII octet, base64 adds a third to all of them.
    high = sum(octet > 0x7F for octet in encoded)
    return "base64" if high * 6 > len(encoded) else "quoted-printable"
