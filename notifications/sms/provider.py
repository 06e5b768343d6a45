"""What every SMS provider over HTTP has in common: the order of checks around one request."""

from __future__ import annotations

import abc
import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, TypedDict, Unpack
from urllib.parse import quote, urlsplit

from notifications.deadline import Deadline, DeadlinePassed
from notifications.failures import before_submit
from notifications.hosts import is_loopback
from notifications.message import Message, SmsMessage
from notifications.option_problems import OptionMisconfigured, OptionProblem
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.sms.http import HttpClient, Reply
from notifications.sms.phone import is_e164

REFERENCE_FIELD = "{reference}"
#: As long as an attempt's reference is: a UUID in its usual form.
_REFERENCE_CHARACTERS = 36


def utc_now() -> dt.datetime:
    """The wall clock, aware."""
    return dt.datetime.now(dt.UTC)


class ConnectionOptions(TypedDict, total=False):
    """Options of every transport over HTTP, as :class:`~notifications.sms.http.HttpClient` has them.

    ``ca_file`` is a PEM bundle that replaces the system's trust store.
    """

    ca_file: str
    connect_seconds: float
    pool_size: int
    max_idle_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One POST: where, under the base address, and what."""

    path: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


class SmsProvider(abc.ABC):
    """A transport that submits one SMS by one POST; a provider says what it holds and how it answers.

    ``min_lifetime`` and ``max_lifetime`` bound what the provider takes as validity: with less
    left than the former a message is not sent, and more than the latter is cut. ``clock`` gives
    the wall time that ``expires_at`` is compared with.
    """

    name: ClassVar[str]
    min_lifetime: dt.timedelta
    max_lifetime: dt.timedelta

    def __init__(
        self,
        *,
        base_url: str,
        clock: Callable[[], dt.datetime] = utc_now,
        **connection: Unpack[ConnectionOptions],
    ) -> None:
        self._clock = clock
        self._client = HttpClient(base_url, **connection)

    def submit(self, message: Message, deadline: Deadline) -> Outcome:
        """Submit one SMS. An email is a caller's mistake: ``TypeError``."""
        if not isinstance(message, SmsMessage):
            raise TypeError(f"{type(self).__name__} submits SmsMessage only.")
        if not is_e164(message.to):
            return Outcome(kind=OutcomeKind.PERMANENT, reason=Reason.INVALID_DESTINATION)
        lifetime = min(message.expires_at - self._clock(), self.max_lifetime)
        if lifetime < self.min_lifetime:
            return Outcome(kind=OutcomeKind.LATE, reason=Reason.LIFETIME_TOO_SHORT)
        try:
            deadline.check()
        except DeadlinePassed as error:
            return before_submit(error)
        request = self.signed(self.request(message, lifetime), deadline)
        if isinstance(request, Outcome):
            return request
        reply = self._client.post(request.path, request.headers, request.body, deadline)
        return reply if isinstance(reply, Outcome) else self.read(reply, self._clock())

    def close(self) -> None:
        """Close idle connections."""
        self._client.close()

    @abc.abstractmethod
    def request(self, message: SmsMessage, lifetime: dt.timedelta) -> Request:
        """What to POST so that ``message`` is valid for ``lifetime``."""

    @abc.abstractmethod
    def read(self, reply: Reply, now: dt.datetime) -> Outcome:
        """What a complete reply means."""

    def signed(self, request: Request, _: Deadline) -> Request | Outcome:
        """``request`` with a signature that is good for now, or why there is none by the deadline."""
        return request


def check_callback(provider: str, address: str, *, max_characters: int = 2000) -> None:
    """Raise :class:`OptionMisconfigured` for an address that no receipt can come to.

    ``address`` is https (http on this machine) and holds ``{reference}``, or is empty: then no
    receipts are asked for. ``max_characters`` counts it with a reference in place.
    """
    if not address:
        return
    parts = urlsplit(address)
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        raise _bad_callback(provider, "is no https address", "Receipts come from elsewhere: use https.")
    if REFERENCE_FIELD not in address:
        hint = f"Put {REFERENCE_FIELD} where the attempt's reference goes."
        raise _bad_callback(provider, f"is {address!r}", hint)
    length = len(address) - len(REFERENCE_FIELD) + _REFERENCE_CHARACTERS
    if length > max_characters:
        what = f"has {length} characters with a reference in place, and {max_characters} are allowed"
        raise _bad_callback(provider, what, "Choose a shorter address.")


def callback_for(address: str, message: SmsMessage) -> str:
    """``address`` with the reference of the attempt in its place."""
    return address.replace(REFERENCE_FIELD, quote(message.reference, safe=""))


def require(provider: str, **secrets: str) -> None:
    """Raise :class:`OptionMisconfigured` for credentials that are empty."""
    missing = [name for name, value in secrets.items() if not value]
    if missing:
        names = " and ".join(repr(name) for name in missing)
        raise OptionMisconfigured(
            OptionProblem.CREDENTIALS,
            f"The {provider} option {names} is empty.",
            "Set it from the environment or a vault.",
        )


def _bad_callback(provider: str, what: str, hint: str) -> OptionMisconfigured:
    return OptionMisconfigured(
        OptionProblem.CALLBACK, f"The {provider} option 'status_callback' {what}.", hint
    )
