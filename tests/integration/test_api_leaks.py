"""A marked text in every place of a request where it does not belong, and in those where it does."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import DataError, OperationalError
from werkzeug.test import TestResponse

from resetdelivery.api import intents
from tests.integration.test_api_failures import failing
from tests.integration.test_leaks import logged  # noqa: F401
from tests.internal_api import Service, in_minutes, service

pytestmark = pytest.mark.django_db

MARK = "marked31415"
WHERE = "/internal/reset-intents"
HEALTH = "/internal/delivery-health"


def body(**fields: object) -> bytes:
    whole = {"account_id": MARK, "channels": ["email"], "expires_at": in_minutes(9)} | fields
    return json.dumps(whole).encode()


def sent(shop: Service, data: bytes, key: str = "k", media_type: str = "application/json") -> TestResponse:
    headers = [("Content-Type", media_type), ("Idempotency-Key", key)]
    return shop.call("POST", WHERE, data=data, headers=headers)


def with_header(shop: Service, name: str, value: str) -> TestResponse:
    return shop.call("GET", HEALTH, headers=[(name, value)])


PLACES: dict[str, tuple[int, Callable[[Service], TestResponse]]] = {
    "account": (202, lambda shop: sent(shop, body())),
    "list": (422, lambda shop: sent(shop, body(account_id=[MARK]))),
    "object": (422, lambda shop: sent(shop, body(account_id={MARK: MARK}))),
    "too long": (422, lambda shop: sent(shop, body(account_id=MARK * 100))),
    "control character": (422, lambda shop: sent(shop, body(account_id=f"{MARK}\n"))),
    "channel": (422, lambda shop: sent(shop, body(channels=[MARK]))),
    "expiry": (422, lambda shop: sent(shop, body(expires_at=MARK))),
    "locale": (422, lambda shop: sent(shop, body(locale=MARK))),
    "version": (422, lambda shop: sent(shop, body(template_version=MARK))),
    "strategy": (422, lambda shop: sent(shop, body(strategy=MARK))),
    "unknown value": (422, lambda shop: sent(shop, body(email=MARK))),
    "unknown name": (422, lambda shop: sent(shop, body(**{MARK: 1}))),
    "no object": (422, lambda shop: sent(shop, json.dumps(MARK).encode())),
    "no JSON": (400, lambda shop: sent(shop, MARK.encode())),
    "name twice": (400, lambda shop: sent(shop, f'{{"{MARK}": 1, "{MARK}": 2}}'.encode())),
    "no UTF-8": (400, lambda shop: sent(shop, MARK.encode() + b"\xff")),
    "too large": (413, lambda shop: sent(shop, MARK.encode() * 2_000)),
    "media type": (415, lambda shop: sent(shop, body(), media_type=f"application/{MARK}")),
    "key": (202, lambda shop: sent(shop, body(), key=MARK)),
    "malformed key": (400, lambda shop: sent(shop, body(), key=f'"{MARK}')),
    "key in use": (422, lambda shop: (sent(shop, body(), MARK), sent(shop, body(channels=["sms"]), MARK))[1]),
    "credential": (401, lambda shop: with_header(shop, "Authorization", f"Bearer {MARK}")),
    "scheme": (401, lambda shop: with_header(shop, "Authorization", f"{MARK} {MARK}")),
    "host": (400, lambda shop: with_header(shop, "Host", f"{MARK}.example")),
    "path": (404, lambda shop: shop.get(f"{WHERE}/{MARK}")),
    "route": (404, lambda shop: shop.get(f"/{MARK}")),
    "query name": (422, lambda shop: shop.get(f"{HEALTH}?{MARK}=1")),
    "query value": (422, lambda shop: shop.get(f"{HEALTH}?window={MARK}")),
    "method": (405, lambda shop: shop.call(MARK.upper(), HEALTH)),
    "cookie": (200, lambda shop: with_header(shop, "Cookie", f"sessionid={MARK}")),
}


@pytest.fixture
def told(logged: Callable[[], str]) -> Callable[[TestResponse], str]:  # noqa: F811
    """An answer with all its headers, and everything that was logged, in small letters."""
    return lambda answer: f"{answer.headers}\n{answer.text}\n{logged()}".lower()


@pytest.mark.parametrize("place", PLACES)
def test_what_a_caller_sends_comes_back_nowhere(
    told: Callable[[TestResponse], str], settings: Any, place: str
) -> None:
    settings.DEBUG = True
    status, send = PLACES[place]
    answer = send(service())
    assert answer.status_code == status
    assert MARK not in told(answer)


@pytest.mark.parametrize("kind", [RuntimeError, DataError, OperationalError, ValueError, UnicodeError])
def test_an_error_that_quotes_the_request_comes_back_nowhere(
    told: Callable[[TestResponse], str], monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    monkeypatch.setattr(intents, "request_reset", failing(kind(f"row ({MARK})")))
    answer = sent(service(), body(), key=MARK)
    assert answer.status_code in {500, 503}
    assert MARK not in told(answer)
    assert kind.__name__.lower() in told(answer)


def test_the_key_that_works_comes_back_nowhere(told: Callable[[TestResponse], str]) -> None:
    shop = service()
    _, _, secret = shop.key.lower().split("_", 2)  # which may hold more of them
    for answer in (shop.get(HEALTH), sent(shop, b"{"), shop.get("/internal/openapi.json")):
        assert secret not in told(answer)
