"""SMS in Vonage's form on a real socket: what goes over it, and what its form refuses."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlencode

import pytest

from notifications.option_problems import OptionMisconfigured, OptionProblem
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.sms.vonage import VonageTransport
from notifications.testing.provider import FakeProvider
from notifications.testing.provider.form import HttpRequest
from notifications.testing.provider.vonage import SmsJson
from tests.wire.samples import NOW, NUMBER, an_email, an_sms, soon

MakeVonage = Callable[..., VonageTransport]

CALLBACK = "https://shop.example/receipts/vonage/{reference}/"


@pytest.fixture
def make_vonage() -> Iterator[MakeVonage]:
    made: list[VonageTransport] = []

    def make(base_url: str = "https://rest.nexmo.com", **options: Any) -> VonageTransport:
        values = {"api_key": "key", "api_secret": "marked-secret", "sender": "Shop", "clock": lambda: NOW}
        made.append(VonageTransport(base_url=base_url, **{**values, **options}))
        return made[-1]

    yield make
    for transport in made:
        transport.close()


@pytest.fixture
def vonage(provider: FakeProvider, make_vonage: MakeVonage) -> VonageTransport:
    return make_vonage(provider.http_url)


def form_of(provider: FakeProvider) -> dict[str, list[str]]:
    return parse_qs(provider.store.list("sms")[0].body.decode("ascii"), strict_parsing=True)


def test_the_form_holds_what_vonage_asks_for(provider: FakeProvider, vonage: VonageTransport) -> None:
    vonage.submit(an_sms(), soon())
    assert form_of(provider) == {
        "api_key": ["key"],
        "api_secret": ["marked-secret"],
        "from": ["Shop"],
        "to": [NUMBER.removeprefix("+")],
        "text": [an_sms().text],
        "type": ["text"],
        "ttl": ["540000"],
        "client-ref": ["attempt-5f0c1c9e"],
    }


def test_a_text_outside_the_seven_bit_alphabet_is_sent_as_unicode(
    provider: FakeProvider, vonage: VonageTransport
) -> None:
    assert vonage.submit(an_sms(text="Zażółć gęślą jaźń"), soon()).kind is OutcomeKind.ACCEPTED
    assert form_of(provider)["type"] == ["unicode"]


def test_a_receipt_is_asked_for_at_the_address_of_the_attempt(
    provider: FakeProvider, make_vonage: MakeVonage
) -> None:
    make_vonage(provider.http_url, status_callback=CALLBACK).submit(an_sms(), soon())
    form = form_of(provider)
    assert form["callback"] == ["https://shop.example/receipts/vonage/attempt-5f0c1c9e/"]
    assert form["status-report-req"] == ["true"]


@pytest.mark.parametrize(
    ("left", "milliseconds"),
    [
        (dt.timedelta(seconds=20), "20000"),
        (dt.timedelta(seconds=20, microseconds=999), "20000"),
        (dt.timedelta(seconds=20, microseconds=1000), "20001"),
        (dt.timedelta(minutes=9), "540000"),
        (dt.timedelta(days=7), "604800000"),
        (dt.timedelta(days=8), "604800000"),
    ],
)
def test_the_time_to_live_is_what_is_left_in_whole_milliseconds(
    provider: FakeProvider, vonage: VonageTransport, left: dt.timedelta, milliseconds: str
) -> None:
    assert vonage.submit(an_sms(expires_at=NOW + left), soon()).kind is OutcomeKind.ACCEPTED
    assert form_of(provider)["ttl"] == [milliseconds]


@pytest.mark.parametrize("left", [dt.timedelta(seconds=19.999), dt.timedelta(0), dt.timedelta(seconds=-5)])
def test_a_lifetime_that_vonage_does_not_take_is_not_sent(
    provider: FakeProvider, vonage: VonageTransport, left: dt.timedelta
) -> None:
    outcome = vonage.submit(an_sms(expires_at=NOW + left), soon())
    assert outcome == Outcome(kind=OutcomeKind.LATE, reason=Reason.LIFETIME_TOO_SHORT)
    assert provider.http.connections == 0


def test_each_segment_is_a_part_of_the_answer(provider: FakeProvider, vonage: VonageTransport) -> None:
    assert vonage.submit(an_sms(text="x" * 161), soon()).kind is OutcomeKind.ACCEPTED
    assert provider.store.count("sms") == 1


@pytest.mark.parametrize("number", ["447911123456", "+0123456789", "+44 7911 123456", ""])
def test_a_number_that_is_not_e164_is_not_sent(
    provider: FakeProvider, vonage: VonageTransport, number: str
) -> None:
    outcome = vonage.submit(an_sms(to=number), soon())
    assert outcome == Outcome(kind=OutcomeKind.PERMANENT, reason=Reason.INVALID_DESTINATION)
    assert provider.http.connections == 0


def test_an_email_is_a_callers_mistake(vonage: VonageTransport) -> None:
    with pytest.raises(TypeError, match="VonageTransport submits SmsMessage"):
        vonage.submit(an_email(), soon())


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({}, "0"),
        ({"to": NUMBER}, "3"),  # with its plus sign
        ({"ttl": "540"}, "3"),  # seconds
        ({"ttl": "604800001"}, "3"),
        ({"type": "unicode"}, "3"),
        ({"text": "Zażółć", "type": "text"}, "3"),
        ({"callback": "https://shop.example/".ljust(101, "x")}, "3"),
        ({"text": None}, "2"),
        ({"api_secret": "wrong"}, "4"),
    ],
)
def test_the_fake_takes_only_what_vonage_documents(
    provider: FakeProvider, change: dict[str, str | None], status: str
) -> None:
    form = {
        "api_key": "key",
        "api_secret": "secret",
        "from": "Shop",
        "to": NUMBER[1:],
        "text": "Hello",
        "type": "text",
        "ttl": "540000",
    }
    body = urlencode({name: value for name, value in {**form, **change}.items() if value is not None})
    speaks = SmsJson(provider.store, provider.faults, ("key", "secret"))
    answer = speaks.post(HttpRequest(path="/sms/json", headers={}, body=body.encode()))
    assert (answer.status, f'"status": "{status}"'.encode() in answer.body) == (200, True)
    assert provider.store.count() == int(status == "0")


@pytest.mark.parametrize(
    ("options", "problem", "words"),
    [
        ({"api_key": ""}, OptionProblem.CREDENTIALS, "'api_key'"),
        ({"api_secret": ""}, OptionProblem.CREDENTIALS, "'api_secret'"),
        ({"sender": ""}, OptionProblem.SENDER, "'sender'"),
        ({"sender": "+447911123456"}, OptionProblem.SENDER, "without plus sign"),
        ({"sender": "A name that is too long"}, OptionProblem.SENDER, "at most 11"),
        ({"status_callback": "https://shop.example/r"}, OptionProblem.CALLBACK, "{reference}"),
        ({"status_callback": "http://shop.example/{reference}"}, OptionProblem.CALLBACK, "https"),
        ({"status_callback": CALLBACK + "x" * 40}, OptionProblem.CALLBACK, "100"),
    ],
)
def test_options_that_cannot_work_are_named(
    make_vonage: MakeVonage, options: dict[str, str], problem: OptionProblem, words: str
) -> None:
    with pytest.raises(OptionMisconfigured) as caught:
        make_vonage(**options)
    assert caught.value.problem is problem
    assert words in str(caught.value)
    assert "marked-secret" not in str(caught.value)
