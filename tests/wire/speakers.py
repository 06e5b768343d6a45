"""Every transport, ready to speak to the fake provider, so that one table can hold them all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from notifications.email.anymail import AnymailTransport
from notifications.email.smtp import SmtpTransport
from notifications.message import Message
from notifications.sms.aws import AwsSmsTransport
from notifications.sms.generic import HttpSmsTransport
from notifications.sms.twilio import TwilioTransport
from notifications.sms.vonage import VonageTransport
from notifications.testing.provider import FakeProvider
from notifications.transport import Transport
from tests.wire.samples import NOW, an_email, an_sms

NAME = "marked-name"
SECRET = "marked-secret"


@dataclass(frozen=True, kw_only=True)
class Speaker:
    """One transport: ``make`` takes the provider, the secret to use, and options."""

    name: str
    channel: str
    make: Callable[..., Transport]
    message: Callable[..., Message]

    @property
    def phase(self) -> str:
        """Where the provider answers the submission."""
        return "dot" if self.name == "smtp" else "submit"


def speak_smtp(provider: FakeProvider, *, secret: str = "", **options: Any) -> Transport:
    tls = "starttls" if provider.smtp.tls else "none"
    values = {"host": "localhost", "port": provider.smtp_port, "tls": tls, "from_address": "shop@example.org"}
    login = {"username": NAME if secret else "", "password": secret}
    return SmtpTransport(**{**values, **login, **options})


def speak_anymail(provider: FakeProvider, *, secret: str = SECRET, **options: Any) -> Transport:
    values = {
        "backend": "anymail.backends.postmark.EmailBackend",
        "backend_options": {"server_token": secret, "api_url": provider.http_url},
        "from_address": "Shop <shop@example.org>",
        "clock": lambda: NOW,
    }
    return AnymailTransport(**{**values, **options})


def speak_twilio(provider: FakeProvider, *, secret: str = SECRET, **options: Any) -> Transport:
    values = {"account_sid": NAME, "auth_token": secret, "from_number": "+15005550006"}
    return _over_http(TwilioTransport, provider, {**values, **options})


def speak_vonage(provider: FakeProvider, *, secret: str = SECRET, **options: Any) -> Transport:
    values = {"api_key": NAME, "api_secret": secret, "sender": "Marketplace"}
    return _over_http(VonageTransport, provider, {**values, **options})


def speak_aws(provider: FakeProvider, *, secret: str = SECRET, **options: Any) -> Transport:
    values = {
        "region": "eu-west-1",
        "origination_identity": "Marketplace",
        "access_key_id": NAME,
        "secret_access_key": secret,
    }
    return _over_http(AwsSmsTransport, provider, {**values, **options})


def speak_generic(provider: FakeProvider, *, secret: str = SECRET, **options: Any) -> Transport:
    values = {"url": f"{provider.http_url}/generic/messages", "token": secret, "clock": lambda: NOW}
    return HttpSmsTransport(**{**values, **options})


def _over_http(
    transport: Callable[..., Transport], provider: FakeProvider, values: dict[str, Any]
) -> Transport:
    return transport(**{"base_url": provider.http_url, "clock": lambda: NOW, **values})


SMTP = Speaker(name="smtp", channel="email", make=speak_smtp, message=an_email)
ANYMAIL = Speaker(name="anymail", channel="email", make=speak_anymail, message=an_email)
TWILIO = Speaker(name="twilio", channel="sms", make=speak_twilio, message=an_sms)
VONAGE = Speaker(name="vonage", channel="sms", make=speak_vonage, message=an_sms)
AWS = Speaker(name="aws", channel="sms", make=speak_aws, message=an_sms)
HTTP = Speaker(name="http", channel="sms", make=speak_generic, message=an_sms)

SPEAKERS = (SMTP, ANYMAIL, TWILIO, VONAGE, AWS, HTTP)
OVER_HTTP = (ANYMAIL, TWILIO, VONAGE, AWS, HTTP)
