from __future__ import annotations

import json
from io import BytesIO

import pytest
from django.core.handlers.asgi import ASGIRequest
from django.urls import resolve
from werkzeug.test import TestResponse

from config.wsgi_internal import URLCONF
from resetdelivery.api.bodies import MAX_BODY_OCTETS
from resetdelivery.models import ResetIntent
from tests.internal_api import Service, in_minutes, problem, service

pytestmark = pytest.mark.django_db

WHERE = "/internal/reset-intents"


@pytest.fixture
def shop(db: None) -> Service:
    return service()


def body(**fields: object) -> bytes:
    whole = {"account_id": "a", "channels": ["email"], "expires_at": in_minutes(9)} | fields
    return json.dumps(whole).encode()


def sized(octets: int) -> bytes:
    """A good body of exactly that many octets, most of them white space."""
    whole = body()
    return whole[:-1] + b" " * (octets - len(whole)) + b"}"


def send(
    shop: Service, data: bytes, media_type: str | None = "application/json", **environ: object
) -> TestResponse:
    headers = [("Idempotency-Key", "k")] + ([("Content-Type", media_type)] if media_type else [])
    return shop.call("POST", WHERE, data=data, headers=headers, **environ)


@pytest.mark.parametrize(
    "media_type",
    [
        "application/json",
        "application/json; charset=utf-8",
        'application/json; charset="UTF-8"',
        "Application/JSON",
    ],
)
def test_json_in_utf8_is_taken(shop: Service, media_type: str) -> None:
    assert send(shop, body(), media_type).status_code == 202


@pytest.mark.parametrize(
    "media_type",
    [
        None,
        "",
        "text/plain",
        "text/json",
        "application/json; charset=utf-16",
        "application/json-patch+json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
    ],
)
def test_every_other_media_type_is_refused(shop: Service, media_type: str | None) -> None:
    answer = send(shop, body(), media_type)
    assert (answer.status_code, problem(answer)) == (415, "unsupported-media-type")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\xff",
        b'{"account_id": "a", "account_id": "b"}',
        b'{"account_id": NaN}',
        b"[" * 16_000,
        b'{"account_id": "\\ud800"}',
        b'{"account_id": "\\u0000"}',
        b"1" * 5_000,
    ],
)
def test_what_is_no_strict_json_is_a_400(shop: Service, data: bytes) -> None:
    answer = send(shop, data)
    assert (answer.status_code, problem(answer)) == (400, "malformed-body")


@pytest.mark.parametrize("limit", ["5", 5.0, True, None, [5]])
def test_no_value_is_turned_into_another_type(shop: Service, limit: object) -> None:
    fields = {"worker_id": "w", "limit": limit, "lease_seconds": 60, "channel": "email"}
    answer = shop.post("/internal/delivery-work/claim", fields)
    assert (answer.status_code, problem(answer)) == (422, "invalid-request")
    assert [error["pointer"] for error in answer.get_json()["errors"]] == ["#/limit"]


def test_a_body_of_exactly_the_limit_is_taken(shop: Service) -> None:
    assert send(shop, sized(MAX_BODY_OCTETS)).status_code == 202


def test_one_octet_more_is_too_large(shop: Service) -> None:
    answer = send(shop, sized(MAX_BODY_OCTETS + 1))
    assert (answer.status_code, problem(answer)) == (413, "body-too-large")
    assert not ResetIntent.objects.exists()


class Counting(BytesIO):
    """A body that knows how much of it was read."""

    taken = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.taken += len(data)
        return data


def stream(shop: Service, source: BytesIO, **environ: object) -> TestResponse:
    """A request whose body comes from ``source``, as a server would pass it on."""
    fields = {
        "wsgi.input": source,
        "CONTENT_TYPE": "application/json",
        "HTTP_IDEMPOTENCY_KEY": "k",
        **environ,
    }
    return shop.call("POST", WHERE, environ_overrides=fields)


def test_a_body_that_says_it_is_too_large_is_not_read(shop: Service) -> None:
    source = Counting(b"x" * 10_000_000)
    answer = stream(shop, source, CONTENT_LENGTH="10000000")
    assert (answer.status_code, source.taken) == (413, 0)


@pytest.mark.parametrize("length", ["", "0", "-1", "many"])
def test_a_body_without_a_usable_length_is_not_read(shop: Service, length: str) -> None:
    source = Counting(body())
    answer = stream(shop, source, CONTENT_LENGTH=length)
    assert (answer.status_code, problem(answer), source.taken) == (400, "malformed-body", 0)


def test_a_chunked_body_is_not_read(shop: Service) -> None:
    source = Counting(b"x" * 100_000)
    answer = stream(
        shop, source, HTTP_TRANSFER_ENCODING="chunked", CONTENT_LENGTH="", **{"wsgi.input_terminated": True}
    )
    assert (answer.status_code, source.taken) == (400, 0)


def test_under_asgi_a_body_that_does_not_tell_its_length_is_read_up_to_the_limit(shop: Service) -> None:
    source = Counting(b" " * 1_000_000)
    headers = [
        (b"host", b"localhost"),
        (b"content-type", b"application/json"),
        (b"authorization", f"Bearer {shop.key}".encode()),
        (b"idempotency-key", b"k"),
        (b"transfer-encoding", b"chunked"),
    ]
    scope = {"type": "http", "method": "POST", "path": WHERE, "headers": headers, "query_string": b""}
    view = resolve(WHERE, urlconf=URLCONF).func
    assert (view(ASGIRequest(scope, source)).status_code, source.taken) == (413, MAX_BODY_OCTETS + 1)


def test_a_body_shorter_than_it_says_is_malformed(shop: Service) -> None:
    answer = stream(shop, BytesIO(body()[:-1]), CONTENT_LENGTH="500")
    assert (answer.status_code, problem(answer)) == (400, "malformed-body")


class Broken(BytesIO):
    """A client that is gone."""

    def read(self, *_: object) -> bytes:
        raise OSError("connection reset")


def test_a_client_that_leaves_in_the_middle_is_no_failure_of_ours(shop: Service) -> None:
    answer = stream(shop, Broken(), CONTENT_LENGTH="500")
    assert (answer.status_code, problem(answer)) == (400, "malformed-body")


def test_who_has_no_key_has_no_body_read(db: None) -> None:
    source = Counting(body())
    answer = stream(Service(), source, CONTENT_LENGTH=str(len(body())))
    assert (answer.status_code, source.taken) == (401, 0)


def test_a_body_where_none_is_asked_for_is_not_read(shop: Service) -> None:
    source = Counting(b"\xff" * 100_000)
    fields = {"wsgi.input": source, "CONTENT_LENGTH": "100000", "CONTENT_TYPE": "application/json"}
    answer = shop.call("GET", "/internal/delivery-health", environ_overrides=fields)
    assert (answer.status_code, source.taken) == (200, 0)
