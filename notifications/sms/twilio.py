"""SMS over HTTP in Twilio's form: ``POST /2010-04-01/Accounts/{sid}/Messages.json``.

Source: Twilio's reference of the Message resource. The validity period bounds Twilio's own queue
only; the link inside dies by its own date.
"""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Callable
from typing import ClassVar
from urllib.parse import quote, urlencode

from notifications.deadline import Deadline, DeadlinePassed
from notifications.exceptions import TransportMisconfigured
from notifications.failures import before_submit
from notifications.message import Message, SmsMessage
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.sms.http import HttpClient
from notifications.sms.phone import is_e164
from notifications.sms.twilio_replies import read_reply

MAX_VALIDITY_SECONDS = 36_000
REFERENCE_FIELD = "{reference}"


def utc_now() -> dt.datetime:
    """The wall clock, aware."""
    return dt.datetime.now(dt.UTC)


class TwilioTransport:
    """Submits to Twilio, or to a service that speaks its form.

    Exactly one of ``from_number`` (E.164 or a short code or name) and ``messaging_service_sid``.
    ``status_callback`` is the https address for receipts and holds ``{reference}``, where the
    attempt's reference goes. ``ca_file`` replaces the system's trust store. ``clock`` gives the
    wall time that ``expires_at`` is compared with. Raises :class:`TransportMisconfigured`.
    """

    name: ClassVar[str] = "twilio"

    def __init__(
        self,
        *,
        base_url: str = "https://api.twilio.com",
        account_sid: str,
        auth_token: str,
        from_number: str = "",
        messaging_service_sid: str = "",
        status_callback: str = "",
        ca_file: str = "",
        connect_seconds: float = 10.0,
        pool_size: int = 32,
        max_idle_seconds: float = 20.0,
        clock: Callable[[], dt.datetime] = utc_now,
    ) -> None:
        _check_options(account_sid, auth_token, from_number, messaging_service_sid, status_callback)
        self._sender = (
            ("From", from_number) if from_number else ("MessagingServiceSid", messaging_service_sid)
        )
        self._status_callback = status_callback
        self._clock = clock
        self._path = f"/2010-04-01/Accounts/{quote(account_sid, safe='')}/Messages.json"
        credentials = base64.b64encode(f"{account_sid}:{auth_token}".encode()).decode("ascii")
        self._headers = {
            "Authorization": f"Basic {credentials}",
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": "application/json",
            "User-Agent": "resetdelivery",
        }
        self._client = HttpClient(
            base_url,
            ca_file=ca_file,
            connect_seconds=connect_seconds,
            pool_size=pool_size,
            max_idle_seconds=max_idle_seconds,
        )

    def submit(self, message: Message, deadline: Deadline) -> Outcome:
        """Submit one SMS. An email is a caller's mistake: ``TypeError``."""
        if not isinstance(message, SmsMessage):
            raise TypeError("TwilioTransport submits SmsMessage only.")
        if not is_e164(message.to):
            return Outcome(kind=OutcomeKind.PERMANENT, reason=Reason.INVALID_DESTINATION)
        try:
            deadline.check()
        except DeadlinePassed as error:
            return before_submit(error)
        validity = validity_seconds(message.expires_at, self._clock())
        if validity < 1:
            return Outcome(kind=OutcomeKind.LATE, reason=Reason.LIFETIME_TOO_SHORT)
        answer = self._client.post(self._path, self._headers, self._form(message, validity), deadline)
        if isinstance(answer, Outcome):
            return answer
        return read_reply(answer.status, answer.headers, answer.body, self._clock())

    def close(self) -> None:
        """Close idle connections."""
        self._client.close()

    def _form(self, message: SmsMessage, validity: int) -> bytes:
        fields = [
            ("To", message.to),
            self._sender,
            ("Body", message.text),
            ("ValidityPeriod", str(validity)),
            # Replaced characters would change what we counted and what the link says.
            ("SmartEncoded", "false"),
        ]
        if self._status_callback:
            callback = self._status_callback.replace(REFERENCE_FIELD, quote(message.reference, safe=""))
            fields.append(("StatusCallback", callback))
        return urlencode(fields).encode("ascii")


def validity_seconds(expires_at: dt.datetime, now: dt.datetime) -> int:
    """Whole seconds left at ``now``, rounded down and at most Twilio's ten hours; below 1: too late."""
    return min((expires_at - now) // dt.timedelta(seconds=1), MAX_VALIDITY_SECONDS)


def _check_options(
    account_sid: str, auth_token: str, from_number: str, messaging_service_sid: str, status_callback: str
) -> None:
    if not account_sid or not auth_token:
        raise TransportMisconfigured("The Twilio options 'account_sid' and 'auth_token' must both be set.")
    if bool(from_number) == bool(messaging_service_sid):
        raise TransportMisconfigured(
            "Set exactly one of the Twilio options 'from_number' and 'messaging_service_sid'."
        )
    if status_callback and REFERENCE_FIELD not in status_callback:
        raise TransportMisconfigured(
            f"The Twilio option 'status_callback' is {status_callback!r}: "
            f"put {REFERENCE_FIELD} where the attempt's reference goes."
        )
