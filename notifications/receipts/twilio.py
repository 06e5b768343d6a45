"""Twilio's status callbacks.

Signature: ``X-Twilio-Signature`` is the base64 of an HMAC-SHA1 under the account's auth token, over
the exact address that was called and the form's fields, sorted, name and value run together; for a
JSON body over the address alone, whose query then has the body's SHA-256 as ``bodySHA256``
(twilio.com/docs/usage/security, "Validating requests"). Twilio signs no time, so there is no replay
window: the address names the attempt, and a receipt that comes twice changes nothing.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar
from urllib.parse import urlsplit, urlunsplit

from notifications.outcome import Reason
from notifications.receipts.callback import (
    Callback,
    CallbackRefused,
    CallbackUnreadable,
    form_fields,
    json_object,
    text_of,
)
from notifications.receipts.problems import checked_secret
from notifications.receipts.receipt import Receipt, ReceiptVerdict

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"

_SID = re.compile(r"(?:SM|MM)[0-9a-f]{32}\Z", re.ASCII)
_PORTS = {"https": 443, "http": 80}
_DELIVERED, _FAILED, _PROGRESS = ReceiptVerdict.DELIVERED, ReceiptVerdict.FAILED, ReceiptVerdict.PROGRESS

#: twilio.com/docs/messaging/api/message-resource, "Message Status values".
STATUSES: Mapping[str, ReceiptVerdict] = {
    "accepted": _PROGRESS,
    "scheduled": _PROGRESS,
    "queued": _PROGRESS,
    "sending": _PROGRESS,
    "sent": _PROGRESS,  # the nearest carrier took it
    "delivered": _DELIVERED,
    "read": _DELIVERED,  # channels with read receipts only
    "undelivered": _FAILED,
    "failed": _FAILED,
    "canceled": _FAILED,
}

#: By ``ErrorCode`` of what failed: twilio.com/docs/api/errors/<code>.
ERRORS: Mapping[str, Reason] = {
    "21610": Reason.OPTED_OUT,
    "30001": Reason.PROVIDER_BUSY,  # queue overflow
    "30002": Reason.ACCOUNT_SUSPENDED,
    "30003": Reason.UNREACHABLE,  # unreachable handset
    "30004": Reason.RECIPIENT_REFUSED,  # blocked by the recipient or the carrier
    "30005": Reason.INVALID_DESTINATION,  # unknown handset
    "30006": Reason.INVALID_DESTINATION,  # a landline, or a carrier out of reach
    "30007": Reason.CONTENT_REFUSED,  # filtered
    "30008": Reason.PROVIDER_ERROR,  # unknown error
    "30034": Reason.SENDER_REFUSED,  # an unregistered sender in the USA
    "30036": Reason.EXPIRED_AT_PROVIDER,  # the validity period ended
}


class TwilioReceiver:
    """Reads status callbacks whose address names the attempt.

    ``other_auth_token`` is for the time in which the account's primary and secondary token change
    places: either signs. Raises ``ReceiverMisconfigured``.
    """

    name: ClassVar[str] = "twilio"

    def __init__(self, *, auth_token: str = "", other_auth_token: str = "") -> None:
        hint = "Set the auth token of the Twilio account that sends."
        self._keys = [checked_secret(auth_token, "auth_token", hint).encode()]
        if other_auth_token:
            self._keys.append(checked_secret(other_auth_token, "other_auth_token", hint).encode())

    def read(self, callback: Callback) -> Sequence[Receipt]:
        """One receipt; see :class:`~notifications.receipts.callback.Receiver`."""
        signature = callback.headers.get("x-twilio-signature", "")
        if not signature:
            raise CallbackRefused
        if callback.media_type == JSON:
            self._check(callback.url, (), signature)
            _check_body_hash(callback)
            return [_receipt(callback, json_object(callback.body))]
        if callback.media_type not in {FORM, ""}:
            raise CallbackRefused
        pairs = form_fields(callback.body)
        self._check(callback.url, pairs, signature)
        return [_receipt(callback, dict(pairs))]

    def _check(self, url: str, pairs: Collection[tuple[str, str]], signature: str) -> None:
        given = signature.encode("utf-8", "replace")
        expected = [sign(key, address, pairs) for key in self._keys for address in spellings(url)]
        if not any(hmac.compare_digest(one, given) for one in expected):
            raise CallbackRefused


def sign(key: bytes, url: str, pairs: Collection[tuple[str, str]]) -> bytes:
    """The header's value for a call of ``url`` with the form's ``pairs``; none for a JSON body."""
    text = url + "".join(name + value for name, value in sorted(set(pairs)))
    return base64.b64encode(hmac.new(key, text.encode(), hashlib.sha1).digest())


def spellings(url: str) -> tuple[str, str]:
    """``url`` without and with the port that its scheme implies; Twilio signs one or the other."""
    parts = urlsplit(url)
    port = parts.port or _PORTS.get(parts.scheme, 443)
    host = parts.netloc.removesuffix(f":{port}")
    return (
        urlunsplit(parts._replace(netloc=host)),
        urlunsplit(parts._replace(netloc=f"{host}:{port}")),
    )


def _check_body_hash(callback: Callback) -> None:
    hashes = [value for name, value in form_fields(callback.query) if name == "bodySHA256"]
    actual = hashlib.sha256(callback.body).hexdigest()
    if len(hashes) != 1 or not hmac.compare_digest(hashes[0].lower().encode(), actual.encode()):
        raise CallbackRefused


def _receipt(callback: Callback, fields: Mapping[str, object]) -> Receipt:
    sid = text_of(fields, "MessageSid")
    status = text_of(fields, "MessageStatus")
    if not _SID.match(sid) or not status:
        raise CallbackUnreadable
    verdict = STATUSES.get(status)
    return Receipt(
        attempt_reference=callback.attempt_reference,
        provider_reference=sid,
        verdict=verdict or _PROGRESS,
        reason=_reason(verdict, fields.get("ErrorCode", "")),
    )


def _reason(verdict: ReceiptVerdict | None, code: object) -> Reason:
    if verdict is None:
        return Reason.UNREADABLE_REPLY
    if verdict is _FAILED:
        return ERRORS.get(str(code), Reason.PROVIDER_ERROR)
    return Reason.OK
