"""Providers and transports on real sockets."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from notifications.email.smtp import SmtpTransport
from notifications.sms.twilio import TwilioTransport
from notifications.testing.provider import FakeProvider
from tests.wire.samples import NOW

CERTIFICATES = Path(__file__).parent / "certificates"
CA_FILE = str(CERTIFICATES / "localhost.pem")

MakeSmtp = Callable[..., SmtpTransport]
MakeTwilio = Callable[..., TwilioTransport]


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    with FakeProvider() as running:
        yield running


@pytest.fixture
def server_tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / "localhost.pem", CERTIFICATES / "localhost.key")
    return context


@pytest.fixture
def make_smtp() -> Iterator[MakeSmtp]:
    made: list[SmtpTransport] = []

    def make(port: int, **options: object) -> SmtpTransport:
        values = {
            "host": "127.0.0.1",
            "username": "",
            "tls": "none",
            "from_address": "Shop <shop@example.org>",
        }
        transport = SmtpTransport(port=port, **{**values, **options})  # type: ignore[arg-type]  # options of a test
        made.append(transport)
        return transport

    yield make
    for transport in made:
        transport.close()


@pytest.fixture
def make_twilio() -> Iterator[MakeTwilio]:
    made: list[TwilioTransport] = []

    def make(base_url: str, **options: object) -> TwilioTransport:
        values = {
            "account_sid": "AC0123",
            "auth_token": "marked-auth-token",
            "from_number": "+15005550006",
            "clock": lambda: NOW,
        }
        transport = TwilioTransport(base_url=base_url, **{**values, **options})  # type: ignore[arg-type]  # options of a test
        made.append(transport)
        return transport

    yield make
    for transport in made:
        transport.close()


@pytest.fixture
def smtp(provider: FakeProvider, make_smtp: MakeSmtp) -> SmtpTransport:
    return make_smtp(provider.smtp_port)


@pytest.fixture
def twilio(provider: FakeProvider, make_twilio: MakeTwilio) -> TwilioTransport:
    return make_twilio(provider.http_url)
