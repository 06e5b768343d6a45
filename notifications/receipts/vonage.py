"""Vonage's signed delivery receipts, of the SMS API.

Signature: the field ``sig``, over all others, sorted by name, as ``&name=value`` with ``&`` and
``=`` in a value turned to ``_``; hexadecimal, by the method that the account is set to
(developer.vonage.com/getting-started/concepts/signing-messages). It covers ``timestamp``, which
gives the replay window, and ``client-ref``, which names the attempt, but not the address. Receipts
are signed only once Vonage's support has turned that on for the account.

The fields come in a form or as JSON. GET is not taken: its query holds the phone number, and
servers write queries to their access logs.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import ClassVar

from notifications.outcome import Reason
from notifications.receipts.callback import (
    DEFAULT_WINDOW,
    Callback,
    CallbackRefused,
    CallbackUnreadable,
    agreed_reference,
    check_window,
    form_fields,
    json_object,
    moment_of,
    reference_of,
)
from notifications.receipts.problems import (
    ReceiverMisconfigured,
    ReceiverProblem,
    checked_secret,
    checked_window,
)
from notifications.receipts.receipt import Receipt, ReceiptVerdict

#: The methods as Vonage's dashboard and libraries call them; ``md5hash`` is no HMAC.
METHODS = ("sha256", "sha512", "sha1", "md5", "md5hash")

_ID = re.compile(r"[0-9A-Za-z-]{1,64}\Z", re.ASCII)
_SECONDS = re.compile(r"[0-9]{1,12}\Z", re.ASCII)
_TO_UNDERSCORE = str.maketrans("&=", "__")
_DELIVERED, _FAILED, _PROGRESS = ReceiptVerdict.DELIVERED, ReceiptVerdict.FAILED, ReceiptVerdict.PROGRESS

#: developer.vonage.com/messaging/sms/guides/delivery-receipts, "DLR status messages". ``unknown``
#: is the carrier's "no useful information", so nothing follows from it.
STATUSES: Mapping[str, ReceiptVerdict] = {
    "accepted": _PROGRESS,
    "buffered": _PROGRESS,
    "unknown": _PROGRESS,
    "delivered": _DELIVERED,
    "expired": _FAILED,
    "failed": _FAILED,
    "rejected": _FAILED,
}

#: By ``err-code`` of what failed: the same page, "DLR error codes".
ERRORS: Mapping[str, Reason] = {
    "1": Reason.PROVIDER_ERROR,  # unknown
    "2": Reason.UNREACHABLE,  # absent subscriber, temporary
    "3": Reason.INVALID_DESTINATION,  # absent subscriber, permanent
    "4": Reason.RECIPIENT_REFUSED,  # call barred by the user
    "5": Reason.UNROUTABLE,  # portability error
    "6": Reason.CONTENT_REFUSED,  # anti-spam rejection
    "7": Reason.UNREACHABLE,  # handset busy
    "8": Reason.PROVIDER_ERROR,  # network error
    "9": Reason.OPTED_OUT,  # illegal number: the user asked for none
    "10": Reason.INVALID_MESSAGE,  # illegal message
    "11": Reason.UNROUTABLE,  # unroutable
    "12": Reason.UNROUTABLE,  # destination unreachable
    "13": Reason.POLICY_REFUSED,  # subscriber age restriction
    "14": Reason.POLICY_REFUSED,  # number blocked by carrier
    "15": Reason.POLICY_REFUSED,  # prepaid, insufficient funds
    "99": Reason.PROVIDER_ERROR,  # general error
}


class VonageReceiver:
    """Reads signed receipts of messages whose ``client-ref`` is the attempt's reference.

    ``signature_method`` is the account's own setting, one of :data:`METHODS`: a call cannot choose
    it. ``window`` is how old a signature may be. Raises ``ReceiverMisconfigured``.
    """

    name: ClassVar[str] = "vonage"

    def __init__(
        self,
        *,
        signature_secret: str = "",
        signature_method: str = "sha256",
        window: dt.timedelta = DEFAULT_WINDOW,
    ) -> None:
        hint = "Set the signature secret of the Vonage account that sends."
        self._secret = checked_secret(signature_secret, "signature_secret", hint).encode()
        if signature_method not in METHODS:
            hint = f"Use the account's own method, one of {', '.join(map(repr, METHODS))}."
            what = f"'signature_method' is {signature_method!r}."
            raise ReceiverMisconfigured(ReceiverProblem.SECRET, what, hint)
        self._method = signature_method
        self._window = checked_window(window)

    def read(self, callback: Callback) -> Sequence[Receipt]:
        """One receipt; see :class:`~notifications.receipts.callback.Receiver`."""
        fields = _fields(callback)
        if any("&" in name or "=" in name for name in fields):
            # Names are signed as they are: one could hold another field, and hide it.
            raise CallbackRefused
        given = fields.pop("sig", "")
        expected = self.sign(fields)
        if not hmac.compare_digest(given.lower().encode("utf-8", "replace"), expected.encode()):
            raise CallbackRefused
        check_window(_seconds(fields.get("timestamp", "")), callback.received_at, self._window)
        reference = agreed_reference(callback, reference_of(fields.get("client-ref", "")))
        return [_receipt(reference, fields)]

    def sign(self, fields: Mapping[str, str]) -> str:
        """The signature over ``fields``, in lower-case hexadecimal."""
        pairs = sorted(fields.items())
        text = "".join(f"&{name}={value.translate(_TO_UNDERSCORE)}" for name, value in pairs).encode()
        if self._method == "md5hash":
            digest = hashlib.md5(text + self._secret)  # noqa: S324  # what Vonage documents  # nosec B324
            return digest.hexdigest()
        return hmac.new(self._secret, text, self._method).hexdigest()


def _fields(callback: Callback) -> dict[str, str]:
    if callback.query:
        # Documented as unsupported: it would be unclear which of two values is signed.
        raise CallbackUnreadable
    if callback.media_type == "application/json":
        values = json_object(callback.body)
        if not all(isinstance(v, str | int) and not isinstance(v, bool) for v in values.values()):
            raise CallbackUnreadable
        return {name: str(value) for name, value in values.items()}
    pairs = form_fields(callback.body)
    if len(dict(pairs)) < len(pairs):
        raise CallbackUnreadable
    return dict(pairs)


def _seconds(text: str) -> dt.datetime | None:
    return moment_of(int(text)) if _SECONDS.match(text) else None


def _receipt(reference: uuid.UUID | None, fields: Mapping[str, str]) -> Receipt:
    message_id, status = fields.get("messageId", ""), fields.get("status", "")
    if not _ID.match(message_id) or not status:
        raise CallbackUnreadable
    verdict = STATUSES.get(status)
    return Receipt(
        attempt_reference=reference,
        provider_reference=message_id,
        verdict=verdict or _PROGRESS,
        reason=_reason(verdict, status, fields.get("err-code", "")),
        occurred_at=_seconds(fields.get("timestamp", "")),
    )


def _reason(verdict: ReceiptVerdict | None, status: str, code: str) -> Reason:
    if verdict is None:
        return Reason.UNREADABLE_REPLY
    if status == "expired":
        return Reason.EXPIRED_AT_PROVIDER
    if verdict is _FAILED:
        return ERRORS.get(code, Reason.PROVIDER_ERROR)
    return Reason.OK
