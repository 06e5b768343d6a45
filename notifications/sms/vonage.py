"""SMS over HTTP in the form of Vonage's SMS API: ``POST /sms/json``.

Source: ``developer.vonage.com/en/api/sms``. The time to live is in milliseconds, the number goes
without its plus sign, and the answer to a refusal is HTTP 200.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from typing import ClassVar, Unpack
from urllib.parse import urlencode

from notifications.message import SmsMessage
from notifications.option_problems import OptionMisconfigured, OptionProblem
from notifications.outcome import Outcome
from notifications.sms.http import Reply
from notifications.sms.provider import (
    ConnectionOptions,
    Request,
    SmsProvider,
    callback_for,
    check_callback,
    require,
    utc_now,
)
from notifications.sms.segmentation import Encoding, count
from notifications.sms.vonage_replies import read_reply

MILLISECOND = dt.timedelta(milliseconds=1)
MAX_CALLBACK_CHARACTERS = 100
#: Digits without a plus sign, or a name of letters, digits and spaces.
_SENDER = re.compile(r"[0-9]{3,15}|(?=.*[A-Za-z])[A-Za-z0-9 ]{1,11}", re.ASCII)
_HEADERS = {
    "Content-Type": "application/x-www-form-urlencoded",
    "Accept": "application/json",
    "User-Agent": "resetdelivery",
}


class VonageTransport(SmsProvider):
    """Submits to Vonage's SMS API, or to a service that speaks its form.

    ``sender`` is a number without plus sign, or a name of at most 11 letters, digits and spaces.
    ``status_callback`` is the https address for delivery receipts and holds ``{reference}``,
    where the attempt's reference goes; at most 100 characters with it. Raises
    :class:`~notifications.exceptions.TransportMisconfigured`.

    A message with less than 20 seconds left is not sent: Vonage takes no shorter time to live.
    """

    name: ClassVar[str] = "vonage"
    min_lifetime = dt.timedelta(seconds=20)
    max_lifetime = dt.timedelta(days=7)

    def __init__(
        self,
        *,
        base_url: str = "https://rest.nexmo.com",
        api_key: str,
        api_secret: str,
        sender: str,
        status_callback: str = "",
        clock: Callable[[], dt.datetime] = utc_now,
        **connection: Unpack[ConnectionOptions],
    ) -> None:
        require("Vonage", api_key=api_key, api_secret=api_secret)
        _check_sender(sender)
        check_callback("Vonage", status_callback, max_characters=MAX_CALLBACK_CHARACTERS)
        super().__init__(base_url=base_url, clock=clock, **connection)
        self._account = [("api_key", api_key), ("api_secret", api_secret), ("from", sender)]
        self._status_callback = status_callback

    def request(self, message: SmsMessage, lifetime: dt.timedelta) -> Request:
        """The form for one message."""
        fields = [
            *self._account,
            ("to", message.to.removeprefix("+")),
            ("text", message.text),
            ("type", "unicode" if count(message.text).encoding is Encoding.UCS2 else "text"),
            ("ttl", str(lifetime // MILLISECOND)),
            ("client-ref", message.reference),
        ]
        if self._status_callback:
            fields.append(("status-report-req", "true"))
            fields.append(("callback", callback_for(self._status_callback, message)))
        return Request(path="/sms/json", headers=_HEADERS, body=urlencode(fields).encode("ascii"))

    def read(self, reply: Reply, now: dt.datetime) -> Outcome:
        """What a complete reply means."""
        return read_reply(reply.status, reply.headers, reply.body, now)


def _check_sender(sender: str) -> None:
    if not _SENDER.fullmatch(sender):
        raise OptionMisconfigured(
            OptionProblem.SENDER,
            f"The Vonage option 'sender' is {sender!r}.",
            "Use a number without plus sign, or a name of at most 11 letters, digits and spaces.",
        )
