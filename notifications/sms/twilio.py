"""SMS over HTTP in Twilio's form: ``POST /2010-04-01/Accounts/{sid}/Messages.json``.

Source: Twilio's reference of the Message resource. The validity period bounds Twilio's own queue
only; the link inside dies by its own date.
"""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Callable
from typing import ClassVar, Unpack
from urllib.parse import quote, urlencode

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
from notifications.sms.twilio_replies import read_reply

SECOND = dt.timedelta(seconds=1)


class TwilioTransport(SmsProvider):
    """Submits to Twilio, or to a service that speaks its form.

    Exactly one of ``from_number`` (E.164 or a short code or name) and ``messaging_service_sid``.
    ``status_callback`` is the https address for receipts and holds ``{reference}``, where the
    attempt's reference goes. Raises :class:`~notifications.exceptions.TransportMisconfigured`.
    """

    name: ClassVar[str] = "twilio"
    min_lifetime = dt.timedelta(seconds=1)
    max_lifetime = dt.timedelta(hours=10)

    def __init__(
        self,
        *,
        base_url: str = "https://api.twilio.com",
        account_sid: str,
        auth_token: str,
        from_number: str = "",
        messaging_service_sid: str = "",
        status_callback: str = "",
        clock: Callable[[], dt.datetime] = utc_now,
        **connection: Unpack[ConnectionOptions],
    ) -> None:
        require("Twilio", account_sid=account_sid, auth_token=auth_token)
        self._sender = _sender(from_number, messaging_service_sid)
        check_callback("Twilio", status_callback)
        super().__init__(base_url=base_url, clock=clock, **connection)
        self._status_callback = status_callback
        self._path = f"/2010-04-01/Accounts/{quote(account_sid, safe='')}/Messages.json"
        credentials = base64.b64encode(f"{account_sid}:{auth_token}".encode()).decode("ascii")
        self._headers = {
            "Authorization": f"Basic {credentials}",
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": "application/json",
            "User-Agent": "resetdelivery",
        }

    def request(self, message: SmsMessage, lifetime: dt.timedelta) -> Request:
        """The form for one message."""
        fields = [
            ("To", message.to),
            self._sender,
            ("Body", message.text),
            ("ValidityPeriod", str(lifetime // SECOND)),
            # Replaced characters would change what we counted and what the link says.
            ("SmartEncoded", "false"),
        ]
        if self._status_callback:
            fields.append(("StatusCallback", callback_for(self._status_callback, message)))
        return Request(path=self._path, headers=self._headers, body=urlencode(fields).encode("ascii"))

    def read(self, reply: Reply, now: dt.datetime) -> Outcome:
        """What a complete reply means."""
        return read_reply(reply.status, reply.headers, reply.body, now)


def _sender(from_number: str, messaging_service_sid: str) -> tuple[str, str]:
    if bool(from_number) == bool(messaging_service_sid):
        raise OptionMisconfigured(
            OptionProblem.SENDER,
            "The Twilio options 'from_number' and 'messaging_service_sid' are both set, or both missing.",
            "Set exactly one of them.",
        )
    return ("From", from_number) if from_number else ("MessagingServiceSid", messaging_service_sid)
