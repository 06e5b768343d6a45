"""Calls to the internal API, through the very application that its private listener runs."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.core.signals import request_finished, request_started
from django.db import close_old_connections, connection
from django.urls import set_urlconf
from werkzeug.datastructures import Headers
from werkzeug.test import Client, TestResponse

from config.wsgi_internal import application
from resetdelivery.api_keys import create_client_key
from resetdelivery.domain.api_key import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """Another service and its key; ``key=""`` for one that has none."""

    key: str = field(default="", repr=False)

    def call(
        self,
        method: str,
        path: str,
        *,
        data: bytes = b"",
        headers: Iterable[tuple[str, str]] = (),
        **environ: Any,
    ) -> TestResponse:
        """One request, with exactly these octets."""
        sent = Headers(list(headers))
        if self.key:
            sent.setdefault("Authorization", f"Bearer {self.key}")
        environ.setdefault("base_url", "http://localhost")
        with _connection_kept(), _urlconf_kept():
            return Client(application).open(path, method=method, data=data, headers=sent, **environ)

    def get(self, path: str) -> TestResponse:
        return self.call("GET", path)

    def post(self, path: str, fields: object = None, **headers: str) -> TestResponse:
        """A JSON body; headers by their names with ``_`` for ``-``."""
        sent = {"Content-Type": "application/json"} | {n.replace("_", "-"): v for n, v in headers.items()}
        return self.call("POST", path, data=json.dumps(fields).encode(), headers=sent.items())

    def ask(self, fields: object, key: str = "key-1") -> TestResponse:
        """``POST /internal/reset-intents``."""
        return self.post("/internal/reset-intents", fields, Idempotency_Key=key)


@contextmanager
def _urlconf_kept() -> Iterator[None]:
    """A handler leaves its URLconf to its thread, and this thread has other pages to ask for."""
    try:
        yield
    finally:
        set_urlconf(None)


@contextmanager
def _connection_kept() -> Iterator[None]:
    """Django closes connections around each request, and a test's own transaction would go with one."""
    if not connection.in_atomic_block:
        yield
        return
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    try:
        yield
    finally:
        for signal in signals:
            signal.connect(close_old_connections)


def service(client: str = "shop", scopes: Iterable[Scope] = tuple(Scope)) -> Service:
    """A service with a new key of these scopes."""
    return Service(key=create_client_key(client=client, scopes=scopes, who="tests").text)


def reset_fields(account: object, **fields: object) -> dict[str, object]:
    """A body that asks for a reset of ``account`` (its row, or a reference)."""
    ref = account if isinstance(account, str) else str(getattr(account, "pk", account))
    return {"account_id": ref, "channels": ["email"], "expires_at": in_minutes(9)} | fields


def in_minutes(minutes: float) -> str:
    """A moment from now, as RFC 3339 text in whole seconds."""
    at = dt.datetime.now(dt.UTC) + dt.timedelta(minutes=minutes)
    return at.replace(microsecond=0).isoformat().replace("+00:00", "Z")


def problem(answer: TestResponse) -> str:
    """The last part of the problem's type; fails if the answer is no whole problem."""
    told = answer.get_json(force=True)
    assert answer.content_type == "application/problem+json"
    assert set(told) >= {"type", "title", "status", "detail"}
    assert told["status"] == answer.status_code
    return str(told["type"]).removeprefix("/problems/")
