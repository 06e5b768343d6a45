"""Twilio's Messages resource, as far as a submission needs it."""

from __future__ import annotations

import base64
import json
import re
import secrets
from dataclasses import dataclass, field
from urllib.parse import parse_qs

from notifications.testing.provider.faults import Behaviour, Fault, Faults
from notifications.testing.provider.store import Store

PATH = re.compile(r"/2010-04-01/Accounts/(?P<sid>[^/]+)/Messages\.json\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """What to send back; ``status`` 0 closes the connection without a word."""

    status: int
    body: bytes = field(repr=False, default=b"")
    headers: tuple[tuple[str, str], ...] = ()
    drip_seconds: float = 0.0


class MessagesResource:
    """Accepts, records and answers ``POST`` requests, obeying the script."""

    def __init__(self, store: Store, faults: Faults, credentials: tuple[str, str] | None) -> None:
        self._store = store
        self._faults = faults
        self._credentials = credentials

    def post(self, authorization: str, body: bytes) -> HttpAnswer:
        """The answer to one submission."""
        if self._credentials is not None and authorization != _basic(self._credentials):
            return _error(401, 20003, "Authenticate")
        form = {name: values[0] for name, values in parse_qs(body.decode("latin-1")).items()}
        if "To" not in form or "Body" not in form:
            return _error(400, 21604, "A 'To' phone number and a 'Body' are required.")
        fault = self._faults.take("sms", "submit")
        if fault is None or fault.records:
            self._store.record(channel="sms", recipient=form["To"], key=form["Body"], body=body)
        created = _created(form["To"])
        return created if fault is None else self._scripted(fault, created)

    def _scripted(self, fault: Fault, created: HttpAnswer) -> HttpAnswer:
        if fault.behaviour in (Behaviour.HANG, Behaviour.HOLD):
            self._faults.wait()
        seconds = f"{fault.seconds:.0f}"
        answers = {
            Behaviour.REPLY: _error(fault.code or 400, fault.error, fault.text or "Scripted"),
            Behaviour.ERROR: _error(fault.code or 500, fault.error, fault.text or "Scripted"),
            Behaviour.THROTTLE: _error(429, 20429, "Too Many Requests", (("Retry-After", seconds),)),
            Behaviour.GARBAGE: HttpAnswer(status=fault.code or 200, body=b"<html>what is this"),
            Behaviour.DRIP: HttpAnswer(status=201, body=created.body, drip_seconds=fault.seconds),
            Behaviour.HOLD: created,
        }
        return answers.get(fault.behaviour, HttpAnswer(status=0))


def _created(recipient: str) -> HttpAnswer:
    body = {"sid": f"SM{secrets.token_hex(16)}", "status": "queued", "to": recipient, "error_code": None}
    return HttpAnswer(status=201, body=json.dumps(body).encode())


def _error(status: int, code: int, message: str, headers: tuple[tuple[str, str], ...] = ()) -> HttpAnswer:
    body = {
        "code": code,
        "message": message,
        "more_info": f"https://www.twilio.com/docs/errors/{code}",
        "status": status,
    }
    return HttpAnswer(status=status, body=json.dumps(body).encode(), headers=headers)


def _basic(credentials: tuple[str, str]) -> str:
    return "Basic " + base64.b64encode(":".join(credentials).encode()).decode("ascii")
