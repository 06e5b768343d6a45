"""Providers' calls, signed as the providers sign them, for an attempt and a number of nobody's."""

from __future__ import annotations

import base64
import datetime as dt
import json
import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from notifications.receipts import twilio
from notifications.receipts.aws_events import CONTEXT_KEY
from notifications.receipts.callback import Callback
from notifications.receipts.https_get import GetFailed
from notifications.receipts.sns import DIGESTS, string_to_sign
from notifications.receipts.vonage import VonageReceiver

NOW = dt.datetime(2026, 11, 29, 12, 0, tzinfo=dt.UTC)
ATTEMPT = uuid.UUID("6ba7b810-9dad-41d1-80b4-00c04fd430c8")
OTHER = uuid.UUID("16fd2706-8baf-433b-82eb-8c7fada847da")
NUMBER = "+4915199918181"
BASE = "https://shop.example/receipts"
TOKEN = "marked-twilio-token"
SECRET = "marked-vonage-secret"
SID = "SM0123456789abcdef0123456789abcdef"
FORM = "application/x-www-form-urlencoded"
TOPIC = "arn:aws:sns:eu-central-1:123456789012:sms-events"
CERTIFICATE = "https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-0123456789abcdef.pem"


def call(
    provider: str,
    body: bytes,
    *,
    attempt: uuid.UUID | None = ATTEMPT,
    query: str = "",
    at: dt.datetime = NOW,
    **headers: str,
) -> Callback:
    """A call to the address of ``attempt``; header names with underscores for hyphens."""
    path = f"/{provider}/" if attempt is None else f"/{provider}/{attempt}/"
    return Callback(
        url=BASE + path + (f"?{query}" if query else ""),
        query=query,
        headers={name.replace("_", "-"): value for name, value in headers.items()},
        body=body,
        attempt_reference=attempt,
        received_at=at,
    )


def twilio_fields(status: str = "delivered", **more: str) -> dict[str, str]:
    return {"MessageSid": SID, "MessageStatus": status, "To": NUMBER, "From": "+15005550006", **more}


def twilio_signature(url: str, fields: Mapping[str, str], token: str = TOKEN) -> str:
    return twilio.sign(token.encode(), url, list(fields.items())).decode()


def twilio_call(status: str = "delivered", *, attempt: uuid.UUID = ATTEMPT, **more: str) -> Callback:
    """A signed status callback."""
    fields = twilio_fields(status, **more)
    signature = twilio_signature(f"{BASE}/twilio/{attempt}/", fields)
    body = urlencode(fields).encode()
    return call("twilio", body, attempt=attempt, content_type=FORM, x_twilio_signature=signature)


def vonage_fields(
    status: str = "delivered", *, at: dt.datetime = NOW, attempt: uuid.UUID = ATTEMPT, **more: str
) -> dict[str, str]:
    """A signed delivery receipt, as fields."""
    fields = {
        "msisdn": NUMBER.removeprefix("+"),
        "to": "Shop & Sons = us",
        "messageId": "0B00000127FDBC63",
        "status": status,
        "err-code": "0",
        "message-timestamp": "2026-11-29 12:00:00",
        "timestamp": str(int(at.timestamp())),
        "client-ref": str(attempt),
        **{name.replace("_", "-"): value for name, value in more.items()},
    }
    return {**fields, "sig": VonageReceiver(signature_secret=SECRET).sign(fields)}


def vonage_call(
    fields: Mapping[str, str], *, attempt: uuid.UUID | None = ATTEMPT, at: dt.datetime = NOW
) -> Callback:
    return call("vonage", urlencode(fields).encode(), attempt=attempt, at=at, content_type=FORM)


def event(kind: str = "TEXT_DELIVERED", *, attempt: uuid.UUID = ATTEMPT, **more: Any) -> str:
    """An event of End User Messaging, as the text of an SNS message."""
    return json.dumps(
        {
            "eventType": kind,
            "eventTimestamp": int(NOW.timestamp() * 1000),
            "isFinal": True,
            "destinationPhoneNumber": NUMBER,
            "messageId": "862a8790-60c0-4430-9b2b-658bde0ca1f3",
            "context": {CONTEXT_KEY: str(attempt)},
            **more,
        }
    )


class SnsSigner:
    """Amazon SNS's part: a key, a certificate of a CA of the tests, messages signed with it."""

    def __init__(
        self,
        *,
        name: str = "sns.amazonaws.com",
        not_after: dt.datetime = NOW + dt.timedelta(days=3650),
        bits: int = 2048,
    ) -> None:
        authority = generate_private_key(public_exponent=65537, key_size=2048)
        self.key: RSAPrivateKey = generate_private_key(public_exponent=65537, key_size=bits)
        self.pem = (
            x509.CertificateBuilder()
            .subject_name(_called(name))
            .issuer_name(_called("A CA of the tests"))
            .public_key(self.key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(NOW - dt.timedelta(days=3650))
            .not_valid_after(not_after)
            .sign(authority, SHA256())
            .public_bytes(Encoding.PEM)
        )
        self.fetched: list[str] = []

    def fetch(self, url: str) -> bytes:
        """Answers as SNS's host does: with the certificate, or to a confirmation."""
        self.fetched.append(url)
        return b"<ConfirmSubscriptionResponse/>" if "?Action=" in url else self.pem

    def message(self, text: str, *, version: str = "2", at: dt.datetime = NOW, **more: str) -> bytes:
        """A signed notification, or of another ``Type``, as a request's body."""
        message = {
            "Type": "Notification",
            "MessageId": "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
            "TopicArn": TOPIC,
            "Message": text,
            "Timestamp": at.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
            "SignatureVersion": version,
            "SigningCertURL": CERTIFICATE,
            **more,
        }
        to_sign = string_to_sign(message) or b""
        signature = self.key.sign(to_sign, PKCS1v15(), DIGESTS[version])
        return json.dumps({**message, "Signature": base64.b64encode(signature).decode()}).encode()

    def confirmation(self) -> bytes:
        """A signed request to confirm a subscription."""
        return self.message(
            "You have chosen to subscribe to the topic.",
            Type="SubscriptionConfirmation",
            Token="2336412f37",
            SubscribeURL="https://sns.eu-central-1.amazonaws.com/?Action=ConfirmSubscription",
        )


def unreachable(url: str) -> bytes:
    """A fetch that gets nothing."""
    raise GetFailed


def _called(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
