"""The generic form of ``docs/adding-a-provider.md``, with a memory for its keys."""

from __future__ import annotations

import re
import threading
import uuid
from typing import ClassVar

from notifications.testing.provider.faults import Fault, Faults
from notifications.testing.provider.form import (
    Form,
    Headers,
    HttpAnswer,
    HttpRequest,
    Submitted,
    basic,
    json_answer,
    json_fields,
)
from notifications.testing.provider.store import Store

_NUMBER = re.compile(r"\+[1-9][0-9]{6,14}", re.ASCII)


class GenericMessages(Form):
    """``POST /generic/messages``; a key that was seen is answered as it was the first time."""

    path: ClassVar[re.Pattern[str]] = re.compile(r"/generic/messages\Z")

    def __init__(self, store: Store, faults: Faults, credentials: tuple[str, str] | None) -> None:
        super().__init__(store, faults, credentials)
        self._lock = threading.Lock()
        self._answers: dict[str, HttpAnswer] = {}

    def read(self, request: HttpRequest) -> Submitted | HttpAnswer:
        """Either kind of authentication, and JSON with what is required; what a known key was told."""
        if self._credentials is not None:
            allowed = {basic(self._credentials), f"Bearer {self._credentials[1]}"}
            if request.headers.get("authorization") not in allowed:
                return _error(401, "authentication_failed", "Authenticate")
        fields = json_fields(request.body)
        number, text, seconds = (fields.get(name) for name in ("to", "text", "lifetime_seconds"))
        if not (isinstance(number, str) and _NUMBER.fullmatch(number)):
            return _error(400, "invalid_destination", "'to' is no E.164 number")
        if not (isinstance(text, str) and text and isinstance(seconds, int) and seconds >= 1):
            return _error(400, "", "'text' or 'lifetime_seconds' is missing")
        with self._lock:
            known = self._answers.get(request.headers.get("idempotency-key", ""))
        return known or Submitted(recipient=number, key=text)

    def keep(self, request: HttpRequest, read: Submitted, accepted: HttpAnswer) -> None:
        """Remember the answer for this key, too."""
        super().keep(request, read, accepted)
        if key := request.headers.get("idempotency-key"):
            with self._lock:
                self._answers[key] = accepted

    def accepted(self, _: Submitted) -> HttpAnswer:
        """202 with a new id."""
        return json_answer(202, {"id": str(uuid.uuid4())})

    def refused(self, fault: Fault, status: int) -> HttpAnswer:
        """The reason ``fault.name``."""
        return _error(status, fault.name, fault.text or "Scripted")

    def throttled(self, headers: Headers) -> HttpAnswer:
        """429."""
        return json_answer(429, {"reason": "rate_limited"}, headers)


def _error(status: int, reason: str, detail: str) -> HttpAnswer:
    return json_answer(status, {"reason": reason, "detail": detail})
