from __future__ import annotations

import json
from typing import Any

import pytest

from resetdelivery.models import ResetIntent
from tests.internal_api import Service, problem, reset_fields, service

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop(db: None) -> Service:
    return service()


@pytest.mark.parametrize(
    ("header", "word"),
    [
        (None, "idempotency-key-missing"),
        ("", "idempotency-key-malformed"),
        ('""', "idempotency-key-malformed"),
        ('"   "', "idempotency-key-malformed"),
        ("k" * 256, "idempotency-key-malformed"),
        ('"open', "idempotency-key-malformed"),
        ("two, of them", "idempotency-key-malformed"),
        ('"one","two"', "idempotency-key-malformed"),
        ('"one";p=1', "idempotency-key-malformed"),
        ("schlüssel", "idempotency-key-malformed"),
    ],
)
def test_a_key_that_is_none_stores_nothing(
    shop: Service, account: Any, header: str | None, word: str
) -> None:
    sent = {} if header is None else {"Idempotency_Key": header}
    answer = shop.post("/internal/reset-intents", reset_fields(account), **sent)
    assert (answer.status_code, problem(answer)) == (400, word)
    assert not ResetIntent.objects.exists()


@pytest.mark.parametrize(
    "key", ["k" * 255, '"' + "k" * 255 + '"', '"with space and \\" and \\\\"', "a:b/c=d"]
)
def test_every_key_of_the_right_form_is_taken(shop: Service, account: Any, key: str) -> None:
    assert shop.ask(reset_fields(account), key=key).status_code == 202


def test_a_header_that_is_sent_twice_is_refused(shop: Service, account: Any) -> None:
    headers = [("Idempotency-Key", "one"), ("Idempotency-Key", "two"), ("Content-Type", "application/json")]
    data = json.dumps(reset_fields(account)).encode()
    answer = shop.call("POST", "/internal/reset-intents", data=data, headers=headers)
    assert (answer.status_code, problem(answer)) == (400, "idempotency-key-malformed")
    assert not ResetIntent.objects.exists()


@pytest.mark.parametrize(
    ("change", "pointer", "words"),
    [
        ({"account_id": ["a", "b"]}, "#/account_id", "string"),
        ({"account_id": {"email": "x"}}, "#/account_id", "string"),
        ({"account_id": 17}, "#/account_id", "string"),
        ({"account_id": None}, "#/account_id", "string"),
        ({"account_id": True}, "#/account_id", "string"),
        ({"account_id": ""}, "#/account_id", "fewer than 1"),
        ({"account_id": "   "}, "#/account_id", "empty"),
        ({"account_id": "a\nb"}, "#/account_id", "control character"),
        ({"account_id": "x" * 256}, "#/account_id", "more than 255"),
        ({"channels": "email"}, "#/channels", "list"),
        ({"channels": []}, "#/channels", "fewer than 1"),
        ({"channels": ["email", "email"]}, "#/channels", "twice"),
        ({"channels": ["pigeon"]}, "#/channels/0", "one of"),
        ({"channels": [["email"]]}, "#/channels/0", "one of"),
        ({"expires_at": 1893456000}, "#/expires_at", "RFC 3339"),
        ({"expires_at": "2030-01-31T12:00:00"}, "#/expires_at", "RFC 3339"),
        ({"expires_at": "2030-02-31T12:00:00Z"}, "#/expires_at", "does not exist"),
        ({"expires_at": "2001-01-31T12:00:00Z"}, "#/expires_at", "in the past"),
        ({"expires_at": "9999-12-31T23:59:59Z"}, "#/expires_at", "longest"),
        ({"strategy": "both"}, "#/strategy", "one of"),
        ({"locale": "de_DE.UTF-8"}, "#/locale", "language tag"),
        ({"template_version": "../../etc"}, "#/template_version", "template_version must"),
        ({"email": "mallory@example.com"}, "#", "does not exist"),
        ({"redirect_url": "https://evil.example"}, "#", "does not exist"),
        ({"phone": "+15005550006"}, "#", "does not exist"),
    ],
)
def test_a_bad_field_is_pointed_at_and_stores_nothing(
    shop: Service, account: Any, change: dict[str, object], pointer: str, words: str
) -> None:
    answer = shop.ask(reset_fields(account, **change))
    assert (answer.status_code, problem(answer)) == (422, "invalid-request")
    (error,) = answer.get_json()["errors"]
    assert error["pointer"] == pointer
    assert words in error["detail"]
    assert not ResetIntent.objects.exists()


@pytest.mark.parametrize("missing", ["account_id", "channels", "expires_at"])
def test_a_missing_field_is_named(shop: Service, account: Any, missing: str) -> None:
    fields = reset_fields(account)
    del fields[missing]
    (error,) = shop.ask(fields).get_json()["errors"]
    assert error == {"pointer": f"#/{missing}", "detail": "is missing."}


@pytest.mark.parametrize("body", [[], "text", 17, None, True, [{"account_id": "1"}]])
def test_a_body_that_is_no_object_is_refused(shop: Service, body: object) -> None:
    answer = shop.ask(body)
    assert (answer.status_code, problem(answer)) == (422, "invalid-request")
