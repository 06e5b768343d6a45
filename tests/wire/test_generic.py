"""SMS in the generic form on a real socket: what goes over it, and what its key is good for."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from notifications.option_problems import OptionMisconfigured, OptionProblem
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.sms.generic import HttpSmsTransport
from notifications.testing.provider import Behaviour, FakeProvider, Fault
from notifications.testing.provider.form import HttpRequest
from notifications.testing.provider.generic import GenericMessages
from tests.wire.raw_server import raw_server, read_until
from tests.wire.samples import NOW, NUMBER, an_email, an_sms, soon

MakeHttp = Callable[..., HttpSmsTransport]

ACCEPTED = b'HTTP/1.1 202 Accepted\r\nContent-Length: 12\r\n\r\n{"id": "m1"}'


@pytest.fixture
def make_http() -> Iterator[MakeHttp]:
    made: list[HttpSmsTransport] = []

    def make(url: str = "https://sms.example/send", **options: Any) -> HttpSmsTransport:
        values = {"token": "marked-token", "clock": lambda: NOW}
        made.append(HttpSmsTransport(url=url, **{**values, **options}))
        return made[-1]

    yield make
    for transport in made:
        transport.close()


@pytest.fixture
def http(provider: FakeProvider, make_http: MakeHttp) -> HttpSmsTransport:
    return make_http(f"{provider.http_url}/generic/messages")


def heads(make_http: MakeHttp, url: str, **options: Any) -> list[bytes]:
    """The head of a request, as lines."""
    heard: list[bytes] = []

    def converse(connection: Any) -> None:
        heard.extend(read_until(connection, b"\r\n\r\n").split(b"\r\n"))
        read_until(connection, b"}")
        connection.sendall(ACCEPTED)

    with raw_server(converse) as port:
        outcome = make_http(url.format(port=port), **options).submit(an_sms(), soon())
    assert outcome == Outcome(kind=OutcomeKind.ACCEPTED, provider_reference="m1")
    return heard


def test_the_json_is_as_documented(provider: FakeProvider, http: HttpSmsTransport) -> None:
    http.submit(an_sms(), soon())
    assert json.loads(provider.store.list("sms")[0].body) == {
        "to": NUMBER,
        "text": an_sms().text,
        "reference": "attempt-5f0c1c9e",
        "lifetime_seconds": 540,
    }


def test_a_sender_and_a_callback_are_passed_on(provider: FakeProvider, make_http: MakeHttp) -> None:
    options = {"sender": "Shop", "status_callback": "https://shop.example/receipts/{reference}"}
    make_http(f"{provider.http_url}/generic/messages", **options).submit(an_sms(), soon())
    fields = json.loads(provider.store.list("sms")[0].body)
    assert fields["from"] == "Shop"
    assert fields["status_callback"] == "https://shop.example/receipts/attempt-5f0c1c9e"


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({}, b"Authorization: Bearer marked-token"),
        ({"token": "", "username": "me", "password": "pw"}, b"Authorization: Basic bWU6cHc="),
    ],
)
def test_either_kind_of_authentication_is_sent(
    make_http: MakeHttp, options: dict[str, str], line: bytes
) -> None:
    assert line in heads(make_http, "http://127.0.0.1:{port}/send", **options)


@pytest.mark.parametrize(
    ("url", "line"),
    [
        ("http://127.0.0.1:{port}", b"POST / HTTP/1.1"),
        ("http://127.0.0.1:{port}/", b"POST / HTTP/1.1"),
        ("http://127.0.0.1:{port}/v2/send", b"POST /v2/send HTTP/1.1"),
        ("http://127.0.0.1:{port}/v2/send/", b"POST /v2/send/ HTTP/1.1"),
    ],
)
def test_the_address_is_met_exactly(make_http: MakeHttp, url: str, line: bytes) -> None:
    assert heads(make_http, url)[0] == line


def test_a_try_with_the_same_key_is_recognised_after_a_lost_answer(
    provider: FakeProvider, http: HttpSmsTransport
) -> None:
    provider.faults.add(Fault(channel="sms", behaviour=Behaviour.DROP))
    assert http.submit(an_sms(reference="first", key="delivery"), soon()).kind is OutcomeKind.AMBIGUOUS
    assert http.submit(an_sms(reference="second", key="delivery"), soon()).kind is OutcomeKind.ACCEPTED
    assert provider.store.count("sms") == 1


def test_another_key_is_another_message(provider: FakeProvider, http: HttpSmsTransport) -> None:
    http.submit(an_sms(reference="one"), soon())
    http.submit(an_sms(reference="two"), soon())
    assert provider.store.count("sms") == 2


@pytest.mark.parametrize(
    ("left", "seconds"),
    [
        (dt.timedelta(seconds=30), 30),
        (dt.timedelta(seconds=30.999), 30),
        (dt.timedelta(seconds=300), 300),
        (dt.timedelta(seconds=301), 300),
    ],
)
def test_the_lifetime_is_what_is_left_in_whole_seconds(
    provider: FakeProvider, make_http: MakeHttp, left: dt.timedelta, seconds: int
) -> None:
    url = f"{provider.http_url}/generic/messages"
    transport = make_http(url, min_lifetime_seconds=30, max_lifetime_seconds=300)
    assert transport.submit(an_sms(expires_at=NOW + left), soon()).kind is OutcomeKind.ACCEPTED
    assert json.loads(provider.store.list("sms")[0].body)["lifetime_seconds"] == seconds


def test_a_lifetime_below_the_configured_minimum_is_not_sent(
    provider: FakeProvider, make_http: MakeHttp
) -> None:
    transport = make_http(f"{provider.http_url}/generic/messages", min_lifetime_seconds=30)
    outcome = transport.submit(an_sms(expires_at=NOW + dt.timedelta(seconds=29.9)), soon())
    assert outcome == Outcome(kind=OutcomeKind.LATE, reason=Reason.LIFETIME_TOO_SHORT)
    assert provider.http.connections == 0


def test_an_email_is_a_callers_mistake(http: HttpSmsTransport) -> None:
    with pytest.raises(TypeError, match="HttpSmsTransport submits SmsMessage"):
        http.submit(an_email(), soon())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"to": NUMBER[1:]}, "invalid_destination"),
        ({"to": None}, "invalid_destination"),
        ({"text": ""}, ""),
        ({"lifetime_seconds": 0}, ""),
        ({"lifetime_seconds": "540"}, ""),
    ],
)
def test_the_fake_takes_only_what_is_documented(
    provider: FakeProvider, change: dict[str, object], reason: str
) -> None:
    fields = {"to": NUMBER, "text": "Hello", "lifetime_seconds": 540, **change}
    speaks = GenericMessages(provider.store, provider.faults, None)
    body = json.dumps(fields).encode()
    answer = speaks.post(HttpRequest(path="/generic/messages", headers={}, body=body))
    assert (answer.status, json.loads(answer.body)["reason"]) == (400, reason)
    assert provider.store.count() == 0


@pytest.mark.parametrize(
    ("options", "problem", "words"),
    [
        ({"token": ""}, OptionProblem.CREDENTIALS, "exactly one"),
        ({"username": "me", "password": "marked-password"}, OptionProblem.CREDENTIALS, "exactly one"),
        ({"token": "", "username": "me"}, OptionProblem.CREDENTIALS, "exactly one"),
        ({"token": "marked-token\n"}, OptionProblem.CREDENTIALS, "line break"),
        ({"min_lifetime_seconds": 0}, OptionProblem.VALUE, "0 and 86400"),
        ({"max_lifetime_seconds": 0}, OptionProblem.VALUE, "1 and 0"),
        ({"status_callback": "https://shop.example/"}, OptionProblem.CALLBACK, "{reference}"),
    ],
)
def test_options_that_cannot_work_are_named(
    make_http: MakeHttp, options: dict[str, Any], problem: OptionProblem, words: str
) -> None:
    with pytest.raises(OptionMisconfigured) as caught:
        make_http(**options)
    assert caught.value.problem is problem
    assert words in str(caught.value)
    assert "marked" not in str(caught.value)
