"""Postmark's email API, for submissions through django-anymail."""

from __future__ import annotations

import re
import uuid
from typing import ClassVar

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


class SendEmail(Form):
    """``POST /email``."""

    path: ClassVar[re.Pattern[str]] = re.compile(r"/email\Z")
    channel: ClassVar[str] = "email"

    def read(self, request: HttpRequest) -> Submitted | HttpAnswer:
        """A server token, and JSON for one recipient that asks for no tracking."""
        token = request.headers.get("x-postmark-server-token")
        if self._credentials is not None and token != self._credentials[1]:
            return _error(401, 10, "Bad or missing Server API token.")
        fields = json_fields(request.body)
        if "," in str(fields.get("To", ",")) or {"Cc", "Bcc"} & fields.keys():
            return _error(422, 300, "Exactly one recipient is expected here.")
        if fields.get("TrackOpens") is not False or fields.get("TrackLinks") != "None":
            return _error(422, 300, "Tracking is expected to be off here.")
        listed = fields.get("Headers")
        headers = (
            {str(one["Name"]).lower(): str(one["Value"]) for one in listed}
            if isinstance(listed, list)
            else {}
        )
        return Submitted(recipient=str(fields["To"]), key=headers.get("message-id", ""))

    def accepted(self, read: Submitted) -> HttpAnswer:
        """Code 0 and a new id."""
        body = {"ErrorCode": 0, "Message": "OK", "MessageID": str(uuid.uuid4()), "To": read.recipient}
        return json_answer(200, body)

    def refused(self, fault: Fault, status: int) -> HttpAnswer:
        """An error with its code."""
        return _error(status, fault.error, fault.text or "Scripted")

    def throttled(self, headers: Headers) -> HttpAnswer:
        """429."""
        return json_answer(429, {"ErrorCode": 429, "Message": "Too many requests"}, headers)


def _error(status: int, code: int, message: str) -> HttpAnswer:
    return json_answer(status, {"ErrorCode": code, "Message": message})
