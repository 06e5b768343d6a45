"""The checks of what providers ask of their options."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks

from tests.integration.test_checks_settings import GOOD

VONAGE: dict[str, Any] = {"api_key": "key", "api_secret": "marked-secret", "sender": "Shop"}
AWS: dict[str, Any] = {
    "region": "eu-west-1",
    "origination_identity": "Shop",
    "access_key_id": "key",
    "secret_access_key": "marked-secret",
}
ANYMAIL: dict[str, Any] = {
    "backend": "anymail.backends.postmark.EmailBackend",
    "backend_options": {"server_token": "marked-secret"},
    "from_address": "shop@shop.example",
}
PATHS = {
    "vonage": ("sms", "notifications.sms.vonage.VonageTransport", VONAGE),
    "aws": ("sms", "notifications.sms.aws.AwsSmsTransport", AWS),
    "anymail": ("email", "notifications.email.anymail.AnymailTransport", ANYMAIL),
}


def found(settings: Any, provider: str, *, listed: bool = False, **changes: Any) -> list[CheckMessage]:
    """What our checks number E040 to E049 say about one provider with changed options."""
    channel, path, options = PATHS[provider]
    one = {"TRANSPORT": path, "OPTIONS": {**options, **changes}}
    channels = {channel: {"PROVIDERS": [{"NAME": "main", **one}]} if listed else one}
    settings.RESETDELIVERY = {**GOOD, "CHANNELS": channels, **settings.RESETDELIVERY}
    return [one for one in run_checks(tags=["resetdelivery"]) if str(one.id)[:-1] == "resetdelivery.E04"]


@pytest.fixture(autouse=True)
def _nothing_else(settings: Any) -> None:
    settings.RESETDELIVERY = {}


@pytest.mark.parametrize("listed", [False, True], ids=["alone", "in a list"])
@pytest.mark.parametrize("provider", PATHS)
def test_good_options_pass(settings: Any, provider: str, listed: bool) -> None:
    assert found(settings, provider, listed=listed) == []


@pytest.mark.parametrize("listed", [False, True], ids=["alone", "in a list"])
@pytest.mark.parametrize(
    ("provider", "changes", "number"),
    [
        ("vonage", {"api_secret": ""}, "E040"),
        ("aws", {"secret_access_key": ""}, "E040"),
        ("anymail", {"backend_options": {}}, "E040"),
        ("aws", {"region": "Ireland"}, "E041"),
        ("anymail", {"backend": "anymail.backends.postmrak.EmailBackend"}, "E042"),
        ("anymail", {"backend": "anymail.backends.amazon_ses.EmailBackend"}, "E042"),
        ("vonage", {"sender": "+447911123456"}, "E043"),
        ("vonage", {"status_callback": "https://shop.example/receipts/"}, "E044"),
        ("aws", {"max_price": "a lot"}, "E045"),
    ],
)
def test_an_option_that_cannot_work_is_numbered_and_has_a_hint(
    settings: Any, provider: str, changes: dict[str, Any], number: str, listed: bool
) -> None:
    (message,) = found(settings, provider, listed=listed, **changes)
    assert message.id == f"resetdelivery.{number}"
    assert message.hint
    assert "marked-secret" not in f"{message.msg} {message.hint}"


def test_a_useful_lifetime_that_the_provider_does_not_take_is_seen(settings: Any) -> None:
    settings.RESETDELIVERY = {"MIN_USEFUL": dt.timedelta(seconds=19)}
    (message,) = found(settings, "vonage")
    assert message.id == "resetdelivery.E046"
    assert "0:00:20" in str(message.hint)


def test_a_useful_lifetime_that_it_takes_is_none_of_its_business(settings: Any) -> None:
    settings.RESETDELIVERY = {"MIN_USEFUL": dt.timedelta(seconds=20)}
    assert found(settings, "vonage") == []
