"""AWS End User Messaging SMS, version 2: ``SendTextMessage`` over AWS's JSON protocol."""

from __future__ import annotations

import datetime as dt
import re
import uuid
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from notifications.testing.provider import sigv4
from notifications.testing.provider.faults import Fault
from notifications.testing.provider.form import (
    Form,
    Headers,
    HttpAnswer,
    HttpRequest,
    Submitted,
    json_answer,
    json_fields,
)

TARGET = "PinpointSMSVoiceV2.SendTextMessage"
CONTENT_TYPE = "application/x-amz-json-1.0"

_SECONDS = range(5, 259_201)


def _text(form: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and re.fullmatch(form, value) is not None


def _is_context(value: Any) -> bool:
    return isinstance(value, dict) and len(value) <= 5 and all(map(_text(r"\S{1,800}"), value.values()))


#: As the API reference has them: every member that we know, and what it may be.
_MEMBERS: Mapping[str, Callable[[Any], bool]] = {
    "DestinationPhoneNumber": _text(r"\+?[1-9][0-9]{1,18}"),
    "OriginationIdentity": _text(r"[A-Za-z0-9_:/+-]{1,256}"),
    "MessageBody": _text(r"(?!\s*$)[\s\S]{1,1600}"),
    "MessageType": _text(r"TRANSACTIONAL|PROMOTIONAL"),
    "TimeToLive": lambda value: isinstance(value, int) and value in _SECONDS,
    "MaxPrice": _text(r"[0-9]{0,2}\.[0-9]{1,5}"),
    "ConfigurationSetName": _text(r"[A-Za-z0-9_:/-]{1,256}"),
    "Context": _is_context,
}


class SendTextMessage(Form):
    """``POST /`` with the operation's name in ``X-Amz-Target``."""

    path: ClassVar[re.Pattern[str]] = re.compile(r"/\Z")

    def read(self, request: HttpRequest) -> Submitted | HttpAnswer:
        """A request that is signed, names the operation, and is as the API reference has it."""
        if self._credentials is not None:
            try:
                sigv4.verify(request, self._credentials, dt.datetime.now(dt.UTC))
            except sigv4.SignatureRefused as refused:
                return _error(400, refused.error, {"message": str(refused)})
        if request.headers.get("x-amz-target") != TARGET:
            return _error(400, "UnknownOperationException", {})
        if request.headers.get("content-type") != CONTENT_TYPE:
            return _error(400, "SerializationException", {})
        fields = json_fields(request.body)
        wrong = [name for name, value in fields.items() if not _MEMBERS.get(name, lambda _: False)(value)]
        wrong += [name for name in ("DestinationPhoneNumber", "MessageBody") if name not in fields]
        if wrong:
            named = [{"Name": name, "Message": "failed to satisfy constraint"} for name in wrong]
            return _error(400, "ValidationException", {"Reason": "FIELD_VALIDATION_FAILED", "Fields": named})
        return Submitted(recipient=str(fields["DestinationPhoneNumber"]), key=str(fields["MessageBody"]))

    def accepted(self, _: Submitted) -> HttpAnswer:
        """A new id."""
        return json_answer(200, {"MessageId": str(uuid.uuid4())}, (("Content-Type", CONTENT_TYPE),))

    def refused(self, fault: Fault, status: int) -> HttpAnswer:
        """The error ``fault.name``, with what follows its slash as ``Reason``."""
        name, _, reason = (fault.name or "InternalServerException").partition("/")
        details = {"Reason": reason} if reason else {}
        return _error(status, name, {**details, "Message": fault.text or "Scripted"})

    def throttled(self, headers: Headers) -> HttpAnswer:
        """The protocol's throttling: HTTP 400."""
        return _error(400, "ThrottlingException", {"Message": "Rate exceeded"}, headers)


def _error(status: int, name: str, details: Mapping[str, object], headers: Headers = ()) -> HttpAnswer:
    body = {"__type": f"com.amazonaws.pinpointsmsvoicev2#{name}", **details}
    return json_answer(status, body, (("Content-Type", CONTENT_TYPE), *headers))
