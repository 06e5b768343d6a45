"""Signed mail as a real SMTP server received it: who believes it, and after what."""

from __future__ import annotations

import datetime as dt
import email
import email.policy
import re
from collections.abc import Callable

import pytest

from notifications.email.smtp import SmtpTransport
from notifications.message import EmailMessage
from notifications.outcome import OutcomeKind
from notifications.testing.provider import Behaviour, FakeProvider, Fault
from tests.dkim_samples import DOMAIN, ED25519, RSA, SIGNER, TEXTS, pem, verdicts
from tests.wire.conftest import MakeSmtp
from tests.wire.samples import NOW, an_email, soon

Tamper = Callable[[bytes], bytes]

OPTIONS = {
    "domain": DOMAIN,
    "keys": [
        {"selector": RSA.selector, "algorithm": "rsa", "key": pem(RSA.private)},
        {"selector": ED25519.selector, "algorithm": "ed25519", "key": pem(ED25519.private)},
    ],
}
CJK = "パスワードを再設定するには、次のリンクを開いてください。\n" * 6


class Clock:
    """A wall clock that is set by hand."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> dt.datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def signing(provider: FakeProvider, make_smtp: MakeSmtp, clock: Clock) -> SmtpTransport:
    return make_smtp(provider.smtp_port, from_address=f"Café <no-reply@{DOMAIN}>", dkim=OPTIONS, clock=clock)


@pytest.fixture
def sent(provider: FakeProvider, signing: SmtpTransport) -> Callable[..., bytes]:
    """Sends one email and gives what the server received."""

    def send(message: EmailMessage | None = None) -> bytes:
        assert signing.submit(message or an_email(), soon()).kind is OutcomeKind.ACCEPTED
        return provider.store.list("email")[-1].body

    return send


def body_hashes(message: bytes) -> list[str]:
    return [value.decode() for value in re.findall(rb"\bbh=([^;]+);", message)]


def relayed_in_seven_bits(message: bytes) -> bytes:
    """What such a relay does: parse the message, and write it again for a 7-bit channel."""
    policy = email.policy.SMTP.clone(cte_type="7bit", refold_source="none")
    return email.message_from_bytes(message, policy=policy).as_bytes()


def unsigned(message: bytes) -> bytes:
    _, begin, rest = message.partition(b"\r\nFrom: ")
    return begin + rest


def substituted(pattern: bytes, replacement: bytes) -> Tamper:
    """A tamper that is certain to find what it changes."""

    def tamper(message: bytes) -> bytes:
        changed, count = re.subn(pattern, replacement, message, count=1)
        assert count == 1
        return changed

    return tamper


@pytest.mark.parametrize("text", TEXTS)
def test_what_a_server_received_verifies_under_both_signatures(sent: Callable[..., bytes], text: str) -> None:
    assert verdicts(sent(an_email(text=text, html=text, subject="Сбросить пароль " * 8))) == [True, True]


TAMPERS: dict[str, Tamper] = {
    "a second Subject before": lambda m: b"Subject: Pay here\r\n" + m,
    "a second Subject behind": substituted(rb"(Subject: .*\r\n)", rb"\1Subject: Pay here\r\n"),
    "a changed Subject": substituted(rb"Subject: R", b"Subject: r"),
    "a second From before": lambda m: b"From: evil@evil.example\r\n" + m,
    "a second From behind": substituted(rb"(?m)^To: ", b"From: evil@evil.example\r\nTo: "),
    "a second To": lambda m: b"To: other@evil.example\r\n" + m,
    "an added Reply-To": lambda m: b"Reply-To: evil@evil.example\r\n" + m,
    "two added Reply-To": lambda m: b"Reply-To: a@evil.example\r\nReply-To: b@evil.example\r\n" + m,
    "a changed Message-ID": substituted(rb"Message-ID: <", b"Message-ID: <x"),
    "a second Message-ID": lambda m: b"Message-ID: <other@evil.example>\r\n" + m,
    "a changed Date": substituted(rb"12:00:00", b"12:00:01"),
    "a changed recipient": substituted(rb"To: m", b"To: n"),
    "another boundary": substituted(rb'boundary="boundary-', b'boundary="boundary'),
    "a second Content-Type": lambda m: b"Content-Type: text/html\r\n" + m,
    "an added transfer encoding": lambda m: b"Content-Transfer-Encoding: base64\r\n" + m,
    "no Auto-Submitted": substituted(rb"Auto-Submitted: .*\r\n", b""),
    "an appended line": lambda m: m + b"appended\r\n",
    "a changed link": substituted(rb"https://shop\.example/reset/", b"https://evil.example/reset/"),
    "a lone CR in the body": substituted(rb"Open this link:\r\n", b"Open this link:\r\r\n"),
    "a line end in the body": substituted(rb"Open this link", b"Open\r\nthis link"),
    "a joined word": substituted(rb"Open this link", b"Openthis link"),
}


@pytest.mark.parametrize("tamper", TAMPERS.values(), ids=TAMPERS.keys())
def test_a_tampered_message_verifies_under_neither(sent: Callable[..., bytes], tamper: Tamper) -> None:
    assert verdicts(tamper(sent())) == [False, False]


HARMLESS: dict[str, Tamper] = {
    "a trace of relays": lambda m: b"Return-Path: <no-reply@shop.example>\r\nReceived: from a by b\r\n" + m,
    "an unsigned field": lambda m: b"X-Spam-Score: 0\r\n" + m,
    "an added List-Id": lambda m: b"List-Id: <x.example>\r\n" + m,
    "LF as line ends": lambda m: m.replace(b"\r\n", b"\n"),
    "white space at a line's end": substituted(rb"Open this link:\r\n", b"Open this link: \t\r\n"),
    "more white space within": substituted(rb"Open this link", b"Open  this\tlink"),
    "a refolded Subject": substituted(rb"Subject: Reset your ", b"Subject: Reset\r\n\tyour  "),
    "another case of a name": substituted(rb"\r\nMessage-ID: ", b"\r\nMessage-Id: "),
    "empty lines at the end": lambda m: m + b"\r\n\r\n",
    "refolded signatures": lambda m: re.sub(rb";\r\n (s|h|bh)=", rb";\r\n\t \1=", m),
}


@pytest.mark.parametrize("change", HARMLESS.values(), ids=HARMLESS.keys())
def test_what_relays_do_to_a_message_leaves_both_valid(sent: Callable[..., bytes], change: Tamper) -> None:
    received = sent()
    assert change(received) != received
    assert verdicts(change(received)) == [True, True]


@pytest.mark.parametrize("text", [CJK, "café\n", "plain\n", "é" * 700 + "\n"])
def test_a_relay_that_speaks_seven_bits_has_nothing_to_encode_anew(
    sent: Callable[..., bytes], text: str
) -> None:
    received = sent(an_email(text=text, html=f"<p>{text}</p>\n"))
    assert verdicts(relayed_in_seven_bits(received)) == [True, True]


def test_an_eight_bit_body_would_not_have_survived_that_relay() -> None:
    """The counter-example: why bodies are made 7-bit clean before they are signed."""
    head = (
        f"From: no-reply@{DOMAIN}\r\nMIME-Version: 1.0\r\n"
        'Content-Type: text/plain; charset="utf-8"\r\nContent-Transfer-Encoding: 8bit\r\n\r\n'
    )
    message = (head + CJK.replace("\n", "\r\n")).encode()
    signed = SIGNER.signature_fields(message, signed_at=int(NOW.timestamp())) + message
    assert verdicts(signed) == [True, True]
    assert verdicts(relayed_in_seven_bits(signed)) == [False, False]


@pytest.mark.parametrize("text", TEXTS)
def test_the_bytes_on_the_wire_are_clean_for_every_relay(sent: Callable[..., bytes], text: str) -> None:
    received = sent(an_email(text=text, html=text, subject="パスワードを再設定 " * 9, to="a@faß.de"))
    assert received.isascii()
    assert received.count(b"\n") == received.count(b"\r\n") == received.count(b"\r")
    assert max(map(len, received.split(b"\r\n"))) <= 998


@pytest.mark.parametrize("name", ["From", "To", "Subject", "Date", "Message-ID"])
def test_each_signed_header_is_there_exactly_once(sent: Callable[..., bytes], name: str) -> None:
    headers = sent().partition(b"\r\n\r\n")[0]
    assert len(re.findall(rb"(?mi)^%s:" % name.encode(), headers)) == 1


def test_the_signatures_come_first_and_count_in_the_declared_size(
    provider: FakeProvider, sent: Callable[..., bytes]
) -> None:
    received = sent()
    mail = next(line for line in provider.smtp.commands if line.startswith(b"MAIL"))
    assert received.startswith(b"DKIM-Signature: v=1; a=rsa-sha256;")
    assert received.count(b"DKIM-Signature:") == 2
    assert int(re.findall(rb" SIZE=(\d+)", mail)[0]) == len(received)


def test_a_retry_signs_the_same_body_anew(
    provider: FakeProvider, signing: SmtpTransport, clock: Clock
) -> None:
    provider.faults.add(Fault(channel="email", behaviour=Behaviour.DROP))
    assert signing.submit(an_email(), soon()).kind is OutcomeKind.AMBIGUOUS
    clock.now += dt.timedelta(seconds=40)
    assert signing.submit(an_email(), soon()).kind is OutcomeKind.ACCEPTED
    first, second = (stored.body for stored in provider.store.list("email"))
    assert body_hashes(first) == body_hashes(second)
    assert unsigned(first) == unsigned(second)
    assert re.findall(rb"t=(\d+);", first) != re.findall(rb"t=(\d+);", second)
    assert verdicts(first) == verdicts(second) == [True, True]


def test_the_time_of_signing_is_the_clocks(sent: Callable[..., bytes]) -> None:
    assert set(re.findall(rb"\bt=(\d+);", sent())) == {str(int(NOW.timestamp())).encode()}


def test_without_keys_nothing_is_signed(provider: FakeProvider, smtp: SmtpTransport) -> None:
    smtp.submit(an_email(), soon())
    assert b"DKIM-Signature" not in provider.store.list("email")[0].body
