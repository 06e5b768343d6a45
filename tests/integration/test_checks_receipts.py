"""The checks of what may tell us of receipts, and what transports are told for it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks

from notifications.channels import Channel
from notifications.sms.twilio import TwilioTransport
from resetdelivery import transports
from resetdelivery.receivers import callback_options, get_receiver
from tests.receipt_samples import BASE, SECRET, TOKEN, TOPIC, twilio_call

Check = Callable[..., list[str]]

CONSOLE = {"TRANSPORT": "notifications.console.ConsoleTransport"}
TWILIO = {"auth_token": TOKEN}
VONAGE = {"signature_secret": SECRET}
SNS = {"topic_arns": [TOPIC]}
WINDOW = {"window": dt.timedelta(minutes=10)}


def found() -> list[CheckMessage]:
    return run_checks(tags=["resetdelivery"])


@pytest.fixture
def check(settings: Any) -> Check:
    """Runs the checks with these receipts; the ids of what they found."""

    def run(base: str = BASE, debug: bool = False, **receipts: Any) -> list[str]:
        settings.DEBUG = debug
        settings.RESETDELIVERY = {
            "RESET_BASE_URL": "https://shop.example",
            "CHANNELS": {"email": CONSOLE, "sms": CONSOLE},
            "RECEIPTS_BASE_URL": base,
            "RECEIPTS": receipts,
        }
        return sorted(str(message.id).removeprefix("resetdelivery.") for message in found())

    return run


@pytest.mark.parametrize(
    ("receipts", "ids"),
    [
        ({}, []),
        ({"twilio": TWILIO, "vonage": VONAGE, "sns": SNS, "anymail": WINDOW}, []),
        ({"twilio": {"receiver": "notifications.receipts.twilio.TwilioReceiver", **TWILIO}}, []),
        ({"twilio": {}}, ["E050"]),
        ({"twilio": {"auth_token": ""}}, ["E050"]),
        ({"vonage": {}}, ["E050"]),
        ({"vonage": {**VONAGE, "signature_method": "rot13"}}, ["E050"]),
        ({"pigeon": {}}, ["E052"]),
        ({"pigeon": {"receiver": "no.such.Receiver"}}, ["E052"]),
        ({"twilio": {**TWILIO, "auht_token": "x"}}, ["E052"]),
        ({"twilio": "planted-secret"}, ["E052"]),
        ({"pigeon": {"receiver": f"{__name__}.Leaky", "secret": "planted-secret"}}, ["E052"]),
        ({"sns": {}}, ["E053"]),
        ({"sns": {"topic_arns": ["arn:aws:sns:eu-central-1:1:x"]}}, ["E053"]),
        ({"anymail": {}}, ["E054"]),
        ({"anymail": {"window": dt.timedelta(days=2)}}, ["E054"]),
        ({"vonage": {**VONAGE, "window": dt.timedelta(0)}}, ["E054"]),
        ({"sns": {**SNS, "window": 600}}, ["E054"]),
    ],
    ids=str,
)
def test_receipts_that_cannot_be_trusted_have_a_number(
    check: Check, receipts: dict[str, Any], ids: list[str]
) -> None:
    assert check(**receipts) == ids


class Leaky:
    """A receiver whose constructor quotes a secret in an error."""

    def __init__(self, *, secret: str) -> None:
        raise RuntimeError(f"{secret} is not a good secret")


@pytest.mark.parametrize(
    ("base", "debug", "ids"),
    [
        ("https://shop.example/receipts/", False, []),
        ("https://shop.example:8443/receipts", False, []),
        ("http://127.0.0.1:8000/receipts", True, []),
        ("http://127.0.0.1:8000/receipts", False, ["E051"]),
        ("http://shop.example/receipts", True, ["E051"]),
        ("http://shop.example/receipts", False, ["E051"]),
        ("https://me:planted-secret@shop.example/receipts", False, ["E051"]),
        ("https://shop.example/receipts?", False, ["E051"]),
        ("https://shop.example:port/receipts", False, ["E051"]),
        ("shop.example/receipts", False, ["E051"]),
        ("", False, ["E051"]),
    ],
)
def test_the_address_of_receipts_is_public_and_https(
    check: Check, base: str, debug: bool, ids: list[str]
) -> None:
    assert check(base, debug, twilio=TWILIO) == ids


def test_anymail_has_an_address_of_its_own(check: Check) -> None:
    assert check("", anymail=WINDOW) == []


def test_an_address_that_is_no_page_has_a_number(check: Check, settings: Any) -> None:
    settings.ROOT_URLCONF = "examples.marketplace.urls"
    assert check(twilio=TWILIO) == ["E051"]
    assert "include('resetdelivery.urls_receipts')" in str(found()[0].hint)


def test_each_has_a_hint_and_none_a_secret(check: Check) -> None:
    check(
        "https://me:planted-secret@shop.example",
        twilio={"planted": "planted-secret"},
        vonage={"signature_secret": "planted-secret", "signature_method": "rot13"},
        sns={},
        anymail={},
        pigeon={"receiver": f"{__name__}.Leaky", "secret": "planted-secret"},
    )
    messages = found()
    assert len(messages) == 6
    assert all(message.hint for message in messages)
    assert "planted-secret" not in repr([(message.msg, message.hint) for message in messages])


# What transports are told.


class Silent(TwilioTransport):
    """A transport that cannot pass an address on."""

    def __init__(self) -> None:
        super().__init__(account_sid="AC1", auth_token="t", from_number="+15005550006")


@pytest.fixture
def twilio_channel(settings: Any) -> Callable[..., None]:
    def configure(base: str = BASE, receipts: Any = None, **options: str) -> None:
        settings.RESETDELIVERY = {
            **settings.RESETDELIVERY,
            "RECEIPTS_BASE_URL": base,
            "RECEIPTS": {"twilio": TWILIO} if receipts is None else receipts,
            "CHANNELS": {
                "sms": {
                    "OPTIONS": {
                        "account_sid": "AC1",
                        "auth_token": "t",
                        "from_number": "+15005550006",
                        **options,
                    }
                }
            },
        }

    return configure


def callback_of_the_channel() -> str:
    transport = transports.get_transport(Channel.SMS)
    assert isinstance(transport, TwilioTransport)
    return transport._status_callback


def test_a_transport_is_told_the_address_that_signatures_are_checked_with(
    twilio_channel: Callable[..., None],
) -> None:
    twilio_channel()
    call = twilio_call()
    told = callback_of_the_channel().replace("{reference}", str(call.attempt_reference))
    assert told == call.url
    assert get_receiver("twilio").read(call)


def test_an_address_of_ones_own_comes_first(twilio_channel: Callable[..., None]) -> None:
    twilio_channel(status_callback="https://elsewhere.example/{reference}")
    assert callback_of_the_channel() == "https://elsewhere.example/{reference}"


@pytest.mark.parametrize(
    ("base", "receipts"), [("", {"twilio": TWILIO}), (BASE, {}), (BASE, {"vonage": VONAGE})]
)
def test_no_receipts_are_asked_for_that_nobody_reads(
    twilio_channel: Callable[..., None], base: str, receipts: dict[str, Any]
) -> None:
    twilio_channel(base, receipts)
    assert callback_of_the_channel() == ""


def test_a_transport_that_cannot_pass_an_address_on_is_told_none(
    twilio_channel: Callable[..., None],
) -> None:
    twilio_channel()
    assert callback_options(Silent) == {}
