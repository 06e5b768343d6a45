"""SMS over HTTP in a plain JSON form of our own, for a provider without a transport here.

The form is documented in ``docs/adding-a-provider.md``: a few lines in front of any provider, or
a gateway of the company's own, speak it.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Callable
from typing import ClassVar, Unpack
from urllib.parse import urlsplit

from notifications.message import SmsMessage
from notifications.option_problems import OptionMisconfigured, OptionProblem
from notifications.outcome import Outcome
from notifications.sms.generic_replies import read_reply
from notifications.sms.http import Reply
from notifications.sms.provider import (
    ConnectionOptions,
    Request,
    SmsProvider,
    callback_for,
    check_callback,
    utc_now,
)

SECOND = dt.timedelta(seconds=1)


class HttpSmsTransport(SmsProvider):
    """Submits to ``url`` (https, or http on this machine; no query).

    Either ``token``, sent as bearer, or ``username`` and ``password``, sent as basic
    authentication. ``sender`` is passed on where it is set. ``status_callback`` is the https
    address for receipts and holds ``{reference}``. ``min_lifetime_seconds`` and
    ``max_lifetime_seconds`` are what the provider behind it takes as validity. Raises
    :class:`~notifications.exceptions.TransportMisconfigured`.
    """

    name: ClassVar[str] = "http"

    def __init__(
        self,
        *,
        url: str,
        token: str = "",
        username: str = "",
        password: str = "",
        sender: str = "",
        status_callback: str = "",
        min_lifetime_seconds: int = 1,
        max_lifetime_seconds: int = 86_400,
        clock: Callable[[], dt.datetime] = utc_now,
        **connection: Unpack[ConnectionOptions],
    ) -> None:
        check_callback("HTTP", status_callback)
        _check_lifetimes(min_lifetime_seconds, max_lifetime_seconds)
        self._headers = {
            "Authorization": _authorization(token, username, password),
            "Content-Type": "application/json",
            "Accept": "application/json",
            "User-Agent": "resetdelivery",
        }
        super().__init__(base_url=url, clock=clock, **connection)
        # The client takes a trailing slash off, and this address is to be met exactly.
        self._path = "/" if urlsplit(url).path in {"", "/"} or url.endswith("/") else ""
        self.min_lifetime = min_lifetime_seconds * SECOND
        self.max_lifetime = max_lifetime_seconds * SECOND
        self._sender = sender
        self._status_callback = status_callback

    def request(self, message: SmsMessage, lifetime: dt.timedelta) -> Request:
        """The JSON for one message."""
        fields: dict[str, object] = {
            "to": message.to,
            "text": message.text,
            "reference": message.reference,
            "lifetime_seconds": lifetime // SECOND,
        }
        if self._sender:
            fields["from"] = self._sender
        if self._status_callback:
            fields["status_callback"] = callback_for(self._status_callback, message)
        headers = {**self._headers, "Idempotency-Key": message.key or message.reference}
        return Request(path=self._path, headers=headers, body=json.dumps(fields).encode("ascii"))

    def read(self, reply: Reply, now: dt.datetime) -> Outcome:
        """What a complete reply means."""
        return read_reply(reply.status, reply.headers, reply.body, now)


def _authorization(token: str, username: str, password: str) -> str:
    if bool(token) == bool(username and password):
        raise OptionMisconfigured(
            OptionProblem.CREDENTIALS,
            "The HTTP options 'token' and 'username' with 'password' are both set, or both missing.",
            "Set exactly one of them.",
        )
    if not token.isprintable() or not token.isascii():
        raise OptionMisconfigured(
            OptionProblem.CREDENTIALS,
            "The HTTP option 'token' holds a character that no header may hold.",
            "Look for a line break at its end.",
        )
    if token:
        return f"Bearer {token}"
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode("ascii")


def _check_lifetimes(least: int, most: int) -> None:
    if not 1 <= least <= most:
        raise OptionMisconfigured(
            OptionProblem.VALUE,
            f"The HTTP options 'min_lifetime_seconds' and 'max_lifetime_seconds' are {least} and {most}.",
            "Use whole seconds, 1 or more, the least first.",
        )
