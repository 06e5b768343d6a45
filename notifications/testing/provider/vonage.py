"""Vonage's SMS API, as far as a submission needs it."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from typing import ClassVar
from urllib.parse import parse_qs

from notifications.sms.segmentation import Encoding, count
from notifications.testing.provider.faults import Fault
from notifications.testing.provider.form import (
    Form,
    Headers,
    HttpAnswer,
    HttpRequest,
    Submitted,
    json_answer,
)

_TO = re.compile(r"[1-9][0-9]{6,14}", re.ASCII)
_MILLISECONDS = range(20_000, 604_800_001)
_REQUIRED = ("api_key", "api_secret", "from", "to", "text")


class SmsJson(Form):
    """``POST /sms/json``: HTTP 200 whatever the request, and a status for each part."""

    path: ClassVar[re.Pattern[str]] = re.compile(r"/sms/json\Z")

    def read(self, request: HttpRequest) -> Submitted | HttpAnswer:
        """A form as ``developer.vonage.com/en/api/sms`` has it."""
        form = {name: values[0] for name, values in parse_qs(request.body.decode("latin-1")).items()}
        missing = [name for name in _REQUIRED if name not in form]
        if missing:
            return _parts("2", f"Missing {missing[0]}")
        if self._credentials is not None and (form["api_key"], form["api_secret"]) != self._credentials:
            return _parts("4", "Bad Credentials")
        wrong = _wrong(form)
        if wrong:
            return _parts("3", f"Invalid value for parameter: {wrong}")
        return Submitted(recipient=f"+{form['to']}", key=form["text"])

    def accepted(self, read: Submitted) -> HttpAnswer:
        """Status 0 and an id for each part."""
        parts = [
            {"to": read.recipient[1:], "message-id": secrets.token_hex(16), "status": "0"}
            for _ in range(count(read.key).segments)
        ]
        return json_answer(200, {"message-count": str(len(parts)), "messages": parts})

    def refused(self, fault: Fault, status: int) -> HttpAnswer:
        """Status ``fault.error`` for the one part, or where there is none a plain HTTP answer."""
        if fault.error:
            return _parts(str(fault.error), fault.text or "Scripted")
        return json_answer(status, {"title": fault.text or "Scripted"})

    def throttled(self, headers: Headers) -> HttpAnswer:
        """429, which the API says before it looks at the form."""
        return json_answer(429, {"title": "Too Many Requests"}, headers)


def _wrong(form: Mapping[str, str]) -> str:
    """The first parameter that is not as documented, empty if all are."""
    form_of_text = "unicode" if count(form["text"]).encoding is Encoding.UCS2 else "text"
    checks = {
        "to": _TO.fullmatch(form["to"]) is not None,
        "type": form.get("type", "text") == form_of_text,
        "ttl": _is_number(form.get("ttl", "20000"), _MILLISECONDS),
        "client-ref": len(form.get("client-ref", "")) <= 100,
        "callback": len(form.get("callback", "")) <= 100,
    }
    return next((name for name, is_right in checks.items() if not is_right), "")


def _is_number(value: str, allowed: range) -> bool:
    return value.isascii() and value.isdigit() and int(value) in allowed


def _parts(status: str, text: str) -> HttpAnswer:
    part = {"status": status, "error-text": text}
    return json_answer(200, {"message-count": "1", "messages": [part]})
