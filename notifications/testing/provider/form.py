"""What the HTTP forms of all providers have in common: check, meet the script, record, answer."""

from __future__ import annotations

import abc
import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from notifications.testing.provider.faults import Behaviour, Fault, Faults
from notifications.testing.provider.store import Store

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """A POST as received; ``headers`` has lower-case names."""

    path: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """What to send back; ``status`` 0 closes the connection without a word."""

    status: int
    body: bytes = field(repr=False, default=b"")
    headers: Headers = ()
    drip_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """What the store keeps of a request that the provider would take."""

    recipient: str = field(repr=False)
    key: str = field(repr=False)


class Form(abc.ABC):
    """One provider's HTTP form.

    ``credentials`` are a name and a secret, demanded when given.
    """

    path: ClassVar[re.Pattern[str]]
    channel: ClassVar[str] = "sms"

    def __init__(self, store: Store, faults: Faults, credentials: tuple[str, str] | None) -> None:
        self._store = store
        self._faults = faults
        self._credentials = credentials

    def post(self, request: HttpRequest) -> HttpAnswer:
        """The answer to one submission, by the script where that has one."""
        read = self.read(request)
        if isinstance(read, HttpAnswer):
            return read
        fault = self._faults.take(self.channel, "submit")
        accepted = self.accepted(read)
        if fault is None or fault.records:
            self.keep(request, read, accepted)
        return accepted if fault is None else self._scripted(fault, accepted)

    @abc.abstractmethod
    def read(self, request: HttpRequest) -> Submitted | HttpAnswer:
        """What is submitted, or the answer to what cannot be: wrong in the provider's own eyes."""

    @abc.abstractmethod
    def accepted(self, read: Submitted) -> HttpAnswer:
        """The usual answer."""

    @abc.abstractmethod
    def refused(self, fault: Fault, status: int) -> HttpAnswer:
        """The refusal that ``fault`` describes, in the provider's own form."""

    @abc.abstractmethod
    def throttled(self, headers: Headers) -> HttpAnswer:
        """Too fast, with the ``Retry-After`` in ``headers``."""

    def keep(self, request: HttpRequest, read: Submitted, _: HttpAnswer) -> None:
        """Take responsibility: before anything is answered, it is in the store."""
        self._store.record(channel=self.channel, recipient=read.recipient, key=read.key, body=request.body)

    def _scripted(self, fault: Fault, accepted: HttpAnswer) -> HttpAnswer:
        if fault.behaviour in (Behaviour.HANG, Behaviour.HOLD):
            self._faults.wait()
        match fault.behaviour:
            case Behaviour.REPLY:
                return self.refused(fault, fault.code or 400)
            case Behaviour.ERROR:
                return self.refused(fault, fault.code or 500)
            case Behaviour.THROTTLE:
                return self.throttled((("Retry-After", f"{fault.seconds:.0f}"),))
            case Behaviour.GARBAGE:
                return HttpAnswer(status=fault.code or 200, body=b"<html>what is this")
            case Behaviour.DRIP:
                return HttpAnswer(status=accepted.status, body=accepted.body, drip_seconds=fault.seconds)
            case Behaviour.HOLD:
                return accepted
            case _:
                return HttpAnswer(status=0)


def json_answer(status: int, value: object, headers: Headers = ()) -> HttpAnswer:
    """``value`` as JSON."""
    return HttpAnswer(status=status, body=json.dumps(value).encode(), headers=headers)


def json_fields(body: bytes) -> dict[str, object]:
    """The JSON object in ``body``, empty if it holds none."""
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def basic(credentials: tuple[str, str]) -> str:
    """The ``Authorization`` of RFC 7617 for a name and a secret."""
    return "Basic " + base64.b64encode(":".join(credentials).encode()).decode("ascii")
