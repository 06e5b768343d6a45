"""A provider's call to one of our addresses, and what keeps it from being a receipt.

CallbackError
├── CallbackRefused       not from the provider, or not for this address: 403
│   └── CallbackStale     really the provider's, but signed too long ago: a replay
├── CallbackUnreadable    in no form that we know: 400
├── CallbackTooLarge      more than any receipt has: 413
└── CallbackPostponed     cannot be judged or stored now: 503, and the provider calls again

None of their texts quotes the call: it holds a phone number. Pure: standard library only.
"""

from __future__ import annotations

import datetime as dt
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol
from urllib.parse import parse_qsl

from notifications.receipts.receipt import Receipt

#: A minute's difference between two clocks is no forgery.
CLOCK_TOLERANCE = dt.timedelta(minutes=1)

DEFAULT_WINDOW = dt.timedelta(minutes=10)

#: More than any provider sends; a bound on what is parsed before a signature is known.
MAX_FIELDS = 100


class CallbackError(Exception):
    """A call is no receipt. ``word`` is what is counted, ``status`` that of the answer (RFC 9110)."""

    word: ClassVar[str]
    status: ClassVar[int]


class CallbackRefused(CallbackError):
    """The call is not signed by the provider for this address."""

    word = "forged"
    status = 403


class CallbackStale(CallbackRefused):
    """The signature is the provider's, and older than the replay window."""

    # The status of its base: nobody learns from the answer that a signature was right.
    word = "too_old"


class CallbackUnreadable(CallbackError):
    """The call has no form that this provider documents."""

    word = "unreadable"
    status = 400


class CallbackTooLarge(CallbackError):
    """The body is larger than any receipt."""

    word = "too_large"
    status = 413


class CallbackPostponed(CallbackError):
    """What the signature is checked with cannot be had now, or the receipt not be stored."""

    word = "postponed"
    status = 503


@dataclass(frozen=True, slots=True, kw_only=True)
class Callback:
    """One POST as it arrived.

    ``url`` is the *configured* public address of this callback with the request's raw query: what
    the provider was told to call, whatever a proxy made of host and scheme. ``headers`` has
    lower-case names; ``attempt_reference`` is what the address names; ``received_at`` is aware.
    """

    url: str
    query: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    attempt_reference: uuid.UUID | None
    received_at: dt.datetime

    @property
    def media_type(self) -> str:
        """The body's media type in lower case, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class Receiver(Protocol):
    """Turns one provider's calls into receipts.

    Options arrive as keyword arguments of the constructor; a wrong one is
    :class:`~notifications.receipts.problems.ReceiverMisconfigured`.
    """

    name: ClassVar[str]

    def read(self, callback: Callback) -> Sequence[Receipt]:
        """The receipts in a call whose signature was verified; none where it only keeps house.

        Raises :class:`CallbackRefused`, :class:`CallbackStale`, :class:`CallbackUnreadable` or
        :class:`CallbackPostponed`.
        """
        ...


def form_fields(text: bytes | str) -> list[tuple[str, str]]:
    """The fields of a urlencoded form, empty ones too, in order. Raises :class:`CallbackUnreadable`."""
    try:
        decoded = text.decode("ascii") if isinstance(text, bytes) else text
        return parse_qsl(
            decoded,
            keep_blank_values=True,
            strict_parsing=bool(decoded),
            errors="strict",
            max_num_fields=MAX_FIELDS,
        )
    except ValueError:
        raise CallbackUnreadable from None


def json_object(body: bytes | str) -> dict[str, object]:
    """A JSON object of valid text without a name given twice. Raises :class:`CallbackUnreadable`."""
    try:
        value = json.loads(body, object_pairs_hook=_once)
        # Half a surrogate pair has no bytes to sign or to store.
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise CallbackUnreadable from None
    if not isinstance(value, dict):
        raise CallbackUnreadable
    return value


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def text_of(fields: Mapping[str, object], name: str) -> str:
    """The text under ``name``; empty where there is none."""
    value = fields.get(name, "")
    return value if isinstance(value, str) else ""


def reference_of(text: str) -> uuid.UUID | None:
    """An attempt's reference as it was sent out; ``None`` for anything else."""
    try:
        found = uuid.UUID(text)
    except ValueError:
        return None
    return found if str(found) == text else None


def agreed_reference(callback: Callback, signed: uuid.UUID | None) -> uuid.UUID | None:
    """The reference that the signature covers.

    :class:`CallbackRefused` where the address names another one: a signature that does not cover
    the address would let one attempt's receipt be sent to another's.
    """
    if callback.attempt_reference is not None and callback.attempt_reference != signed:
        raise CallbackRefused
    return signed


def check_window(signed_at: dt.datetime | None, received_at: dt.datetime, window: dt.timedelta) -> None:
    """Raise :class:`CallbackStale` unless ``signed_at`` lies at most ``window`` back."""
    if signed_at is None or not -CLOCK_TOLERANCE <= received_at - signed_at <= window:
        raise CallbackStale


def moment_of(seconds: float) -> dt.datetime | None:
    """Unix seconds as an aware moment in UTC; ``None`` for what is none."""
    try:
        return dt.datetime.fromtimestamp(seconds, tz=dt.UTC)
    except (ValueError, OverflowError, OSError):
        return None
