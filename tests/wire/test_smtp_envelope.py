"""The envelope's commands, byte for byte: addresses, and how long a message is of use."""

from __future__ import annotations

import datetime as dt

import pytest

from notifications.email.deliver_by import DeliverBy, deliver_by_parameter
from notifications.email.smtp import SmtpTransport
from notifications.exceptions import TransportMisconfigured
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.testing.provider import FakeProvider
from tests.wire.conftest import MakeSmtp
from tests.wire.samples import NOW, an_email, soon

EXPIRES_AT = NOW + dt.timedelta(minutes=9)


def commands(provider: FakeProvider, verb: bytes) -> list[bytes]:
    return [line for line in provider.smtp.commands if line.startswith(verb)]


@pytest.mark.parametrize(
    ("to", "wire"),
    [
        ("a@faß.de", b"a@xn--fa-hia.de"),
        ("a@βόλος.com", b"a@xn--nxasmm1c.com"),
        ('"a b"@example.com', b'"a b"@example.com'),
        ("a@パスワード.jp", b"a@xn--zck6aw5jtc.jp"),
    ],
)
def test_a_recipient_goes_out_in_ascii_in_rcpt_and_in_to(
    provider: FakeProvider, smtp: SmtpTransport, to: str, wire: bytes
) -> None:
    assert smtp.submit(an_email(to=to), soon()).kind is OutcomeKind.ACCEPTED
    assert commands(provider, b"RCPT") == [b"RCPT TO:<" + wire + b">\r\n"]
    assert b"\r\nTo: " + wire + b"\r\n" in provider.store.list()[0].body


@pytest.mark.parametrize(
    "to",
    [
        "müller@example.com",
        "m\u0131key@example.com",
        "a@[127.0.0.1]",
        "a@localhost",
        "a@example.com\n",
        "a@faß.de\r\nRCPT TO:<b@evil.example>",
        "a@x.example, b@y.example",
        "a@example.com(b@evil.example)",
    ],
)
def test_an_address_with_no_ascii_form_fails_for_good_before_anything_is_said(
    provider: FakeProvider, smtp: SmtpTransport, to: str
) -> None:
    outcome = smtp.submit(an_email(to=to), soon())
    assert outcome == Outcome(kind=OutcomeKind.PERMANENT, reason=Reason.INVALID_DESTINATION)
    assert provider.smtp.connections == 0


def test_a_server_that_offers_smtputf8_changes_nothing_about_that(make_smtp: MakeSmtp) -> None:
    with FakeProvider(smtp_offers=["SMTPUTF8"]) as provider:
        outcome = make_smtp(provider.smtp_port).submit(an_email(to="müller@example.com"), soon())
        assert outcome == Outcome(kind=OutcomeKind.PERMANENT, reason=Reason.INVALID_DESTINATION)


def mail_command(make_smtp: MakeSmtp, offers: list[str], left: dt.timedelta, **options: str) -> bytes:
    """MAIL, as a server with ``offers`` heard it when ``left`` was left."""
    with FakeProvider(smtp_offers=offers) as provider:
        transport = make_smtp(provider.smtp_port, clock=lambda: EXPIRES_AT - left, **options)
        outcome = transport.submit(an_email(expires_at=EXPIRES_AT), soon())
        assert outcome.kind is OutcomeKind.ACCEPTED
        return commands(provider, b"MAIL")[0]


@pytest.mark.parametrize(("mode", "ending"), [("notify", b" BY=412;N\r\n"), ("return", b" BY=412;R\r\n")])
def test_a_server_that_offers_deliverby_is_told_what_is_left(
    make_smtp: MakeSmtp, mode: str, ending: bytes
) -> None:
    left = dt.timedelta(seconds=412, milliseconds=999)
    assert mail_command(make_smtp, ["DELIVERBY"], left, deliver_by=mode).endswith(ending)


def test_unless_told_otherwise_a_late_message_is_not_to_be_returned(make_smtp: MakeSmtp) -> None:
    assert mail_command(make_smtp, ["DELIVERBY 60"], dt.timedelta(minutes=5)).endswith(b" BY=300;N\r\n")


@pytest.mark.parametrize(
    ("offers", "options"),
    [([], {}), (["DELIVERBY"], {"deliver_by": "off"}), (["DELIVERBY 301"], {}), (["8BITMIME"], {})],
)
def test_nothing_is_asked_for_that_is_not_offered(
    make_smtp: MakeSmtp, offers: list[str], options: dict[str, str]
) -> None:
    assert b"BY=" not in mail_command(make_smtp, offers, dt.timedelta(minutes=5), **options)


@pytest.mark.parametrize(
    ("offer", "milliseconds", "parameter"),
    [
        (None, 300_000, ""),
        ("", 300_000, " BY=300;R"),
        ("", 300_999, " BY=300;R"),
        ("", 1_000, " BY=1;R"),
        ("", 999, ""),
        ("", 0, ""),
        ("", -5_000, ""),
        ("60", 60_000, " BY=60;R"),
        ("60", 59_999, ""),
        ("60 and more", 60_000, " BY=60;R"),
        ("0", 1_000, " BY=1;R"),
        ("soon", 300_000, " BY=300;R"),
        ("²", 300_000, " BY=300;R"),
        ("", 10**13, " BY=999999999;R"),
    ],
)
def test_the_time_is_in_whole_seconds_and_no_shorter_than_the_server_takes(
    offer: str | None, milliseconds: int, parameter: str
) -> None:
    left = dt.timedelta(milliseconds=milliseconds)
    assert deliver_by_parameter(DeliverBy.RETURN, offer, left) == parameter


def test_another_word_for_what_to_do_is_refused(make_smtp: MakeSmtp) -> None:
    with pytest.raises(TransportMisconfigured, match="'deliver_by' is 'bounce'"):
        make_smtp(25, deliver_by="bounce")
