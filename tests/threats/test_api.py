"""Bodies that no honest caller would send: they name no second account, and break nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from resetdelivery.models import Delivery, ResetIntent
from resetdelivery.testing import deliver_now
from tests.internal_api import Service, problem, reset_fields, service

pytestmark = pytest.mark.django_db

QUIET = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
EVIL = "mallory@evil.example"
PATH = "/internal/reset-intents"
#: Fields of another type or name; numbers and characters that are not passed on at all.
REFUSED = {(422, "invalid-request"), (400, "malformed-body")}

TEXTS = st.one_of(st.text(max_size=20), st.sampled_from([EVIL, f"1,{EVIL}", "null", "1"]))
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)
NOT_A_TEXT = JSON.filter(lambda value: not isinstance(value, str))
FIELDS = ["account_id", "channels", "expires_at", "strategy", "locale", "template_version"]
#: As other systems name what they send to (CVE-2023-7028 took a list under "email").
DESTINATIONS = [
    "email",
    "email[]",
    "emails",
    "to",
    "cc",
    "phone",
    "recipient",
    "redirect_url",
    "link",
    "host",
]


@pytest.fixture
def shop(db: None) -> Service:
    return service("shop")


@pytest.fixture(autouse=True)
def _nothing_is_sent(db: None) -> Iterator[None]:
    yield
    assert deliver_now() == []


@QUIET
@given(value=NOT_A_TEXT)
@example(value=["1", EVIL])
@example(value={"$ne": ""})
@example(value=True)
def test_an_account_that_is_no_string_names_nobody(shop: Service, account: Any, value: Any) -> None:
    for made in (value, [str(account.pk), value], {str(account.pk): value}):
        answer = shop.ask(reset_fields(account, account_id=made))
        assert (answer.status_code, problem(answer)) in REFUSED
    assert not ResetIntent.objects.exists()


@QUIET
@given(name=st.one_of(st.sampled_from(DESTINATIONS), st.text(max_size=20)), value=JSON)
@example(name="email", value=[EVIL])
def test_no_request_says_where_to_send(shop: Service, account: Any, name: str, value: Any) -> None:
    if name in FIELDS:
        return
    answer = shop.ask(reset_fields(account, **{name: value}))
    assert (answer.status_code, problem(answer)) in REFUSED
    assert EVIL not in answer.text
    assert not ResetIntent.objects.exists()


@QUIET
@given(field=st.sampled_from(FIELDS), value=NOT_A_TEXT)
@example(field="channels", value=["email", "email"])
@example(field="channels", value=[["email"]])
@example(field="expires_at", value=2**63)
def test_every_field_of_another_type_is_told_of_and_stores_nothing(
    shop: Service, account: Any, field: str, value: Any
) -> None:
    if value is None and field in {"locale", "template_version"}:
        return
    answer = shop.ask(reset_fields(account, **{field: value}))
    assert (answer.status_code, problem(answer)) in REFUSED
    assert not Delivery.objects.exists()


@pytest.mark.parametrize("name", ["account_id", "account\\u005fid"])
def test_an_account_that_is_named_twice_is_nobody(
    shop: Service, account: Any, make_account: Any, name: str
) -> None:
    whole = json.dumps(reset_fields(account)).encode()
    second = json.dumps(str(make_account().pk))
    both = [whole[:-1] + f', "{name}": {second}}}'.encode(), f'{{"{name}": {second}, '.encode() + whole[1:]]
    assert [sent(shop, body) for body in both] == [(400, "malformed-body")] * 2
    assert not ResetIntent.objects.exists()


def sent(shop: Service, body: bytes) -> tuple[int, str]:
    headers = {"Content-Type": "application/json", "Idempotency-Key": "key-1"}
    answer = shop.call("POST", PATH, data=body, headers=headers.items())
    return answer.status_code, problem(answer)


@QUIET
@given(body=st.one_of(st.binary(max_size=200), JSON.map(lambda value: json.dumps(value).encode())))
@example(body=b'{"account_id":' * 1000)
@example(body=b"[" * 8000 + b"]" * 8000)
@example(body=b'{"a":1e999,"b":-0,"c":' + b"9" * 5000 + b"}")
@example(body=b'{"account_id":"1","account_id":"2"}')
@example(body=b'{"account_id":"\\ud800\\u0000","channels":NaN}')
def test_no_octets_make_more_of_a_body_than_a_problem_of_the_callers(shop: Service, body: bytes) -> None:
    assert sent(shop, body) in REFUSED
    assert not ResetIntent.objects.exists()


@pytest.mark.parametrize("size", [16 * 1024 + 1, 3 * 1024 * 1024])
def test_a_body_over_the_limit_is_refused_by_its_size_alone(shop: Service, size: int) -> None:
    assert sent(shop, b"[" * size) == (413, "body-too-large")
