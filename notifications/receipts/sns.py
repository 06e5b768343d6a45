"""Amazon SNS, which carries the events of AWS End User Messaging SMS.

Signature: RSA PKCS #1 v1.5 over the names and values of the message's fields, one to a line, with
SHA-1 in version 1 and SHA-256 in version 2 (docs.aws.amazon.com/sns, "Verifying the signature of an
Amazon SNS message"). It covers the time of publication, which gives the replay window, and the
event, which names the attempt. Needs the extra ``resetdelivery[sns]``.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import re
from collections.abc import Mapping, Sequence
from typing import ClassVar
from urllib.parse import urlencode

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA1, SHA256, HashAlgorithm

from notifications.receipts.aws_events import read_event
from notifications.receipts.callback import (
    DEFAULT_WINDOW,
    Callback,
    CallbackPostponed,
    CallbackRefused,
    agreed_reference,
    check_window,
    json_object,
    text_of,
)
from notifications.receipts.https_get import GetFailed, HttpsGet
from notifications.receipts.problems import ReceiverMisconfigured, ReceiverProblem, checked_window
from notifications.receipts.receipt import Receipt
from notifications.receipts.sns_certificates import Certificates, Fetch, sns_host

NOTIFICATION = "Notification"
CONFIRMATION = "SubscriptionConfirmation"
FAREWELL = "UnsubscribeConfirmation"

#: Which fields are signed, in this order; ``Subject`` only where there is one.
SIGNED: Mapping[str, Sequence[str]] = {
    NOTIFICATION: ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"),
    CONFIRMATION: ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"),
    FAREWELL: ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"),
}

#: By ``SignatureVersion``. Version 1 is a topic's default: SHA-1 is Amazon's choice there, not ours.
DIGESTS: Mapping[str, HashAlgorithm] = {"1": SHA1(), "2": SHA256()}  # noqa: S303  # nosec B303

#: docs.aws.amazon.com/sns: a topic's name has up to 256 letters, digits, hyphens and underscores.
_ARN = re.compile(
    r"arn:aws(?:-cn|-us-gov)?:sns:([a-z]{2}(?:-[a-z]+)+-[0-9]):[0-9]{12}:[\w-]{1,256}(?:\.fifo)?\Z", re.ASCII
)


class SnsReceiver:
    """Reads what the topics of ``topic_arns`` send, and confirms our subscriptions to them.

    ``window`` is how old a message may be. ``fetch`` gets certificates and confirms: for tests.
    Raises ``ReceiverMisconfigured``.
    """

    name: ClassVar[str] = "sns"

    def __init__(
        self,
        *,
        topic_arns: Sequence[str] = (),
        window: dt.timedelta = DEFAULT_WINDOW,
        fetch: Fetch | None = None,
    ) -> None:
        self._regions = {arn: _region(arn) for arn in _checked_list(topic_arns)}
        self._window = checked_window(window)
        self._fetch = fetch or HttpsGet()
        self._certificates = Certificates(self._fetch)

    def read(self, callback: Callback) -> Sequence[Receipt]:
        """One receipt for a notification, none for the rest; see ``Receiver``."""
        message = json_object(callback.body)
        region = self._regions.get(text_of(message, "TopicArn"))
        if region is None:
            raise CallbackRefused
        self._verify(message, region, callback.received_at)
        check_window(_moment(text_of(message, "Timestamp")), callback.received_at, self._window)
        if message["Type"] == CONFIRMATION:
            self._confirm(message, region)
        if message["Type"] != NOTIFICATION:
            return []
        receipt = read_event(text_of(message, "Message"))
        agreed_reference(callback, receipt.attempt_reference)
        return [receipt]

    def _verify(self, message: Mapping[str, object], region: str, now: dt.datetime) -> None:
        digest = DIGESTS.get(text_of(message, "SignatureVersion"))
        text = string_to_sign(message)
        if digest is None or text is None:
            raise CallbackRefused
        key = self._certificates.public_key(text_of(message, "SigningCertURL"), region, now)
        try:
            signature = base64.b64decode(text_of(message, "Signature"), validate=True)
            key.verify(signature, text, PKCS1v15(), digest)
        except (InvalidSignature, binascii.Error, ValueError):
            raise CallbackRefused from None

    def _confirm(self, message: Mapping[str, object], region: str) -> None:
        """Confirm the subscription, at an address of our own making rather than ``SubscribeURL``."""
        query = urlencode(
            {
                "Action": "ConfirmSubscription",
                "TopicArn": text_of(message, "TopicArn"),
                "Token": text_of(message, "Token"),
            }
        )
        try:
            self._fetch(f"https://{sns_host(region)}/?{query}")
        except GetFailed:
            raise CallbackPostponed from None


def string_to_sign(message: Mapping[str, object]) -> bytes | None:
    """What the signature is over; ``None`` where a field is missing or no text."""
    names = [
        n for n in SIGNED.get(text_of(message, "Type"), ()) if n != "Subject" or message.get(n) is not None
    ]
    if not names or not all(isinstance(message.get(name), str) for name in names):
        return None
    return "".join(f"{name}\n{message[name]}\n" for name in names).encode()


def _moment(text: str) -> dt.datetime | None:
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def _checked_list(arns: object) -> Sequence[str]:
    if isinstance(arns, list | tuple) and arns:
        return arns
    hint = "List the topics that the configuration set's event destination publishes to."
    raise ReceiverMisconfigured(ReceiverProblem.TOPIC, "'topic_arns' lists no topic.", hint)


def _region(arn: object) -> str:
    found = _ARN.match(arn) if isinstance(arn, str) else None
    if found is None:
        hint = "Write it as 'arn:aws:sns:eu-central-1:123456789012:sms-events'."
        raise ReceiverMisconfigured(
            ReceiverProblem.TOPIC, f"'topic_arns' has {arn!r}, which is no topic.", hint
        )
    return found[1]
