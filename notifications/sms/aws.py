"""SMS through AWS End User Messaging SMS, version 2: ``SendTextMessage`` over AWS's JSON protocol.

Source: ``docs.aws.amazon.com/pinpoint/latest/apireference_smsvoicev2``, page
``API_SendTextMessage``. The time to live is in seconds. There is no key by which AWS would
recognise a repeated request, so nothing is repeated here.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import re
from collections.abc import Callable
from typing import ClassVar, Unpack

from notifications.deadline import Deadline
from notifications.message import SmsMessage
from notifications.option_problems import OptionMisconfigured, OptionProblem
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.sms.aws_replies import read_reply
from notifications.sms.aws_signing import SERVICE, Signer, credentials
from notifications.sms.http import Reply
from notifications.sms.provider import ConnectionOptions, Request, SmsProvider, utc_now

SECOND = dt.timedelta(seconds=1)
#: Under this name the attempt's reference is in every event about the message.
CONTEXT_KEY = "reference"
_REGION = re.compile(r"[a-z]{2}(?:-[a-z]+){1,3}-[0-9]{1,2}", re.ASCII)
_IDENTITY = re.compile(r"[A-Za-z0-9_:/+-]{1,256}", re.ASCII)
_CONFIGURATION_SET = re.compile(r"[A-Za-z0-9_:/-]{0,256}", re.ASCII)
_PRICE = re.compile(r"(?:[0-9]{0,2}\.[0-9]{1,5})?", re.ASCII)
_HEADERS = {
    "Content-Type": "application/x-amz-json-1.0",
    "X-Amz-Target": "PinpointSMSVoiceV2.SendTextMessage",
    "Accept": "application/json",
    "User-Agent": "resetdelivery",
}


class AwsSmsTransport(SmsProvider):
    """Submits to AWS End User Messaging SMS, or to a service that speaks its form.

    ``origination_identity`` is a number, sender id, pool or ARN of ours; ``configuration_set``
    says where events (receipts) go; ``max_price`` is the most that one part may cost, in US
    dollars, as ``"0.10"``. Without keys, AWS's usual chain of credentials is asked. ``base_url``
    replaces the region's own address. Needs the extra ``aws``. Raises
    :class:`~notifications.exceptions.TransportMisconfigured`.
    """

    name: ClassVar[str] = "aws"
    min_lifetime = dt.timedelta(seconds=5)
    max_lifetime = dt.timedelta(hours=72)

    def __init__(
        self,
        *,
        region: str,
        origination_identity: str,
        access_key_id: str = "",
        secret_access_key: str = "",
        session_token: str = "",
        configuration_set: str = "",
        max_price: str = "",
        base_url: str = "",
        clock: Callable[[], dt.datetime] = utc_now,
        **connection: Unpack[ConnectionOptions],
    ) -> None:
        _check_region(region)
        _check("origination_identity", origination_identity, _IDENTITY, "a number, sender id, pool or ARN")
        _check("configuration_set", configuration_set, _CONFIGURATION_SET, "a name or an ARN")
        _check("max_price", max_price, _PRICE, "US dollars with a point, such as '0.10'")
        self._signer = Signer(credentials(access_key_id, secret_access_key, session_token), region)
        self._url = (base_url or endpoint(region)).rstrip("/") + "/"
        super().__init__(base_url=self._url, clock=clock, **connection)
        optional = {"ConfigurationSetName": configuration_set, "MaxPrice": max_price}
        self._fields = {
            "OriginationIdentity": origination_identity,
            "MessageType": "TRANSACTIONAL",
            **{name: value for name, value in optional.items() if value},
        }

    def request(self, message: SmsMessage, lifetime: dt.timedelta) -> Request:
        """The operation's input for one message."""
        fields = {
            **self._fields,
            "DestinationPhoneNumber": message.to,
            "MessageBody": message.text,
            "TimeToLive": lifetime // SECOND,
            "Context": {CONTEXT_KEY: message.reference},
        }
        return Request(path="/", headers=_HEADERS, body=json.dumps(fields).encode("ascii"))

    def signed(self, request: Request, deadline: Deadline) -> Request | Outcome:
        """``request`` with AWS's signature."""
        try:
            headers = self._signer.signed_headers(self._url, request.headers, request.body, deadline)
        except Exception:
            # The credentials could not be renewed. The next try may find the source of them again.
            return Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.AUTHENTICATION_FAILED)
        return dataclasses.replace(request, headers=headers)

    def read(self, reply: Reply, now: dt.datetime) -> Outcome:
        """What a complete reply means."""
        return read_reply(reply.status, reply.headers, reply.body, now)


def endpoint(region: str) -> str:
    """The base address of ``region`` (AWS General Reference, End User Messaging SMS endpoints)."""
    suffix = ".cn" if region.startswith("cn-") else ""
    return f"https://{SERVICE}.{region}.amazonaws.com{suffix}"


def _check_region(region: str) -> None:
    if not _REGION.fullmatch(region):
        raise OptionMisconfigured(
            OptionProblem.REGION,
            f"The AWS option 'region' is {region!r}.",
            "Write it as AWS does, such as 'eu-west-1'.",
        )


def _check(option: str, value: str, form: re.Pattern[str], what: str) -> None:
    if not form.fullmatch(value):
        problem = OptionProblem.VALUE if option == "max_price" else OptionProblem.SENDER
        raise OptionMisconfigured(problem, f"The AWS option {option!r} is {value!r}.", f"It must be {what}.")
