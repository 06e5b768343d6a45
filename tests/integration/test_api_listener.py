from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.test import Client
from django.urls import Resolver404, get_resolver

from notifications.testing import ScriptedTransport
from resetdelivery.api import health
from resetdelivery.telemetry.health import DeliveryHealth, delivery_health
from tests.internal_api import Service, problem, reset_fields, service

pytestmark = pytest.mark.django_db

HEALTH = "/internal/delivery-health"


def test_every_answer_is_kept_out_of_caches_and_sets_no_cookie(db: None, account: Any) -> None:
    shop = service()
    answers = [
        shop.get(HEALTH),
        shop.ask(reset_fields(account)),
        Service().get(HEALTH),
        shop.get("/internal/nothing"),
        shop.call("DELETE", HEALTH),
        shop.call("POST", "/internal/reset-intents"),
        shop.call("GET", HEALTH, base_url="http://evil.example"),
    ]
    assert [a.status_code for a in answers] == [200, 202, 401, 404, 405, 415, 400]
    assert {a.headers["Cache-Control"] for a in answers} == {"no-store"}
    assert {a.headers["X-Content-Type-Options"] for a in answers} == {"nosniff"}
    assert not any("Set-Cookie" in a.headers for a in answers)


@pytest.mark.parametrize(
    "path", ["/", "/admin/", "/internal", "/internal/", "/internal/docs", "/internal/x/y"]
)
def test_there_is_nothing_else(db: None, path: str) -> None:
    answer = service().get(path)
    assert (answer.status_code, problem(answer)) == (404, "not-found")


@pytest.mark.parametrize(
    "reference", ["1", "x", "%00", "..%2f..", "00000000-0000-0000-0000-00000000000Z", "a" * 500]
)
def test_a_reference_that_is_none_is_not_found(db: None, reference: str) -> None:
    assert service().get(f"/internal/reset-intents/{reference}").status_code == 404


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"])
def test_a_method_that_is_not_offered_says_which_are(db: None, method: str) -> None:
    answer = service().call(method, "/internal/reset-intents")
    assert (answer.status_code, problem(answer), answer.headers["Allow"]) == (
        405,
        "method-not-allowed",
        "POST",
    )


def test_head_is_get_without_the_content(db: None) -> None:
    monitor = service()
    whole, head = monitor.get(HEALTH), monitor.call("HEAD", HEALTH)
    assert (head.status_code, head.data) == (200, b"")
    assert head.headers == whole.headers


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "local_host!", "localhost:port"])
def test_a_host_that_is_not_ours_is_refused(db: None, host: str) -> None:
    answer = service().call("GET", HEALTH, headers=[("Host", host)])
    assert (answer.status_code, problem(answer)) == (400, "malformed-request")


def test_a_host_is_refused_without_common_middleware_too(db: None, settings: Any) -> None:
    settings.MIDDLEWARE = []
    settings.ROOT_URLCONF = "config.urls_internal"
    answer = Client(HTTP_HOST="evil.example").get(HEALTH)
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")


def test_another_projects_own_handler_answers_with_problems_too(db: None, settings: Any) -> None:
    settings.ROOT_URLCONF = "config.urls_internal"
    client = Client(enforce_csrf_checks=True)
    answers = [client.delete(HEALTH), client.post("/internal/nothing"), client.get(HEALTH)]
    assert [a.status_code for a in answers] == [405, 404, 401]
    assert {a["Content-Type"] for a in answers} == {"application/problem+json"}
    assert {a["Cache-Control"] for a in answers} == {"no-store"}


def test_the_public_pages_have_no_internal_route() -> None:
    public = get_resolver(django_settings.ROOT_URLCONF)
    assert public.resolve("/admin/login/").route == "admin/login/"
    for path in (
        HEALTH,
        "/internal/reset-intents",
        "/internal/openapi.json",
        "/internal/delivery-work/claim",
    ):
        with pytest.raises(Resolver404):
            public.resolve(path)


@pytest.mark.usefixtures("transactional_db")
def test_a_link_made_within_an_internal_request_is_the_shops(
    account: Any, email: ScriptedTransport, change: Any
) -> None:
    """Inline, a message is rendered before the request ends, while the internal URLconf is in force."""
    change(DISPATCH="inline")
    assert service().ask(reset_fields(account)).status_code == 202
    (message,) = email.messages
    assert "https://shop.example/reset/" in message.text


@pytest.mark.usefixtures("transactional_db")
def test_it_works_where_every_view_needs_a_login(settings: Any) -> None:
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "django.contrib.auth.middleware.LoginRequiredMiddleware"]
    settings.ROOT_URLCONF = "config.urls_internal"
    client = Client(enforce_csrf_checks=True, HTTP_AUTHORIZATION=f"Bearer {service().key}")
    assert client.get(HEALTH).status_code == 200
    assert client.post("/internal/reset-intents", "{}", "application/json").status_code == 422


@pytest.mark.usefixtures("transactional_db")
def test_a_project_with_a_transaction_around_each_view_puts_none_around_these(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)
    within: list[bool] = []

    def look(window: dt.timedelta) -> DeliveryHealth:
        within.append(connection.in_atomic_block)
        return delivery_health(window)

    monkeypatch.setattr(health, "delivery_health", look)
    assert service().get(HEALTH).status_code == 200
    assert within == [False]
