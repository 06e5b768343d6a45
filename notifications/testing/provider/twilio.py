"""Twilio's Messages resource, as far as a submission needs it."""

from __future__ import annotations

import re
import secrets
from typing import ClassVar
from urllib.parse import parse_qs

from notifications.testing.provider.faults import Fault
from notifications.testing.provider.form import (
    Form,
    Headers,
    HttpAnswer,
    HttpRequest,
    Submitted,
    basic,
    json_answer,
)


class MessagesResource(Form):
    """``POST /2010-04-01/Accounts/{sid}/Messages.json``."""

    path: ClassVar[re.Pattern[str]] = re.compile(r"/2010-04-01/Accounts/(?P<sid>[^/]+)/Messages\.json\Z")

    def read(self, request: HttpRequest) -> Submitted | HttpAnswer:
        """Basic authentication, and a form with a number and a body."""
        expected = self._credentials
        if expected is not None and request.headers.get("authorization") != basic(expected):
            return _error(401, 20003, "Authenticate")
        form = {name: values[0] for name, values in parse_qs(request.body.decode("latin-1")).items()}
        if "To" not in form or "Body" not in form:
            return _error(400, 21604, "A 'To' phone number and a 'Body' are required.")
        return Submitted(recipient=form["To"], key=form["Body"])

    def accepted(self, read: Submitted) -> HttpAnswer:
        """201 with a new sid."""
        body = {
            "sid": f"SM{secrets.token_hex(16)}",
            "status": "queued",
            "to": read.recipient,
            "error_code": None,
        }
        return json_answer(201, body)

    def refused(self, fault: Fault, status: int) -> HttpAnswer:
        """An error with its code."""
        return _error(status, fault.error, fault.text or "Scripted")

    def throttled(self, headers: Headers) -> HttpAnswer:
        """429 with code 20429."""
        return _error(429, 20429, "Too Many Requests", headers)


def _error(status: int, code: int, message: str, headers: Headers = ()) -> HttpAnswer:
    body = {
        "code": code,
        "message": message,
        "more_info": f"https://www.twilio.com/docs/errors/{code}",
        "status": status,
    }
    return json_answer(status, body, headers)
