"""What a list of providers may not look like, said with a number and a hint."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.checks import CheckMessage

from notifications.channels import Channel
from resetdelivery.checks.providers import check_providers
from resetdelivery.checks.shape import check_settings
from resetdelivery.conf import SettingsInvalid, get_settings
from resetdelivery.transports import get_providers, get_transport
from tests.integration.conftest import Settings

SCRIPTED = "notifications.testing.ScriptedTransport"
MAIN = {"NAME": "main", "TRANSPORT": SCRIPTED}


def found(change: Settings, providers: object, **options: object) -> list[CheckMessage]:
    change(CHANNELS={"sms": {"PROVIDERS": providers, **options}})
    return check_providers()


@pytest.mark.parametrize(
    ("providers", "number", "words"),
    [
        ([], "E055", "is empty"),
        ([MAIN, MAIN], "E056", "2 providers called 'main'"),
        ([{"TRANSPORT": SCRIPTED}], "E057", "has no 'NAME'"),
        ([{"NAME": "main"}], "E057", "has no 'TRANSPORT'"),
        ([{**MAIN, "NAME": "Main One"}], "E057", "use 1 to 32 of a-z"),
        ([{**MAIN, "NAME": "x" * 33}], "E057", "use 1 to 32 of a-z"),
        ([{**MAIN, "OPTION": {}}], "E057", "Did you mean 'OPTIONS'?"),
        ([{**MAIN, "OPTIONS": []}], "E057", "must be a dict"),
        (["main"], "E057", "must be a dict, not str"),
        ([MAIN, {"NAME": "second", "TRANSPORT": "no.such.Transport"}], "E058", "[1]['TRANSPORT']"),
        ([{**MAIN, "OPTIONS": {"outcome": []}}], "E058", "[0]['OPTIONS'] does not fit"),
    ],
)
def test_a_wrong_list_is_named_with_a_hint(
    change: Settings, providers: object, number: str, words: str
) -> None:
    (message,) = found(change, providers)
    assert message.id == f"resetdelivery.{number}"
    assert words in message.msg
    assert message.hint


@pytest.mark.parametrize("beside", [{"TRANSPORT": SCRIPTED}, {"OPTIONS": {}}])
def test_the_short_form_does_not_stand_beside_a_list(change: Settings, beside: dict[str, Any]) -> None:
    (message,) = found(change, [MAIN], **beside)
    assert message.id == "resetdelivery.E057"
    assert f"[{next(iter(beside))!r}] stands beside 'PROVIDERS'" in message.msg


def test_a_list_that_is_none_is_a_wrong_type(change: Settings) -> None:
    assert found(change, "main") == []
    (message,) = check_settings()
    assert (message.id, "must be a list, not str" in message.msg) == ("resetdelivery.E001", True)


def test_what_has_a_number_of_its_own_is_not_reported_twice(change: Settings) -> None:
    change(CHANNELS={"sms": {"PROVIDERS": []}})
    assert check_settings() == []


def test_a_wrong_list_also_stops_whoever_skips_the_checks(change: Settings) -> None:
    change(CHANNELS={"sms": {"PROVIDERS": []}})
    with pytest.raises(SettingsInvalid, match="is empty"):
        get_settings()


def test_no_option_and_no_secret_is_shown(change: Settings) -> None:
    (message,) = found(change, [{**MAIN, "OPTIONS": {"auth_token": "a marked secret"}}])
    assert "a marked secret" not in f"{message.msg} {message.hint}"


@pytest.mark.parametrize(
    ("number", "options", "warned"),
    [
        (1, {}, False),
        (2, {}, False),
        (3, {}, True),
        (3, {"MAX_ATTEMPTS": 7}, False),
        (3, {"OUTAGE_THRESHOLD": 2}, False),
        (1, {"MAX_ATTEMPTS": 2}, True),
    ],
)
def test_attempts_that_an_outage_of_everybody_would_use_up_are_warned_of(
    change: Settings, number: int, options: dict[str, int], warned: bool
) -> None:
    messages = found(change, [{**MAIN, "NAME": f"p{i}"} for i in range(number)], **options)
    assert [message.id for message in messages] == ["resetdelivery.W059"] * warned


def test_a_right_list_gives_its_providers_in_order(change: Settings) -> None:
    assert found(change, [MAIN, {**MAIN, "NAME": "second"}]) == []
    main, second = get_providers(Channel.SMS)
    assert (main.name, second.name) == ("main", "second")
    assert main.transport is not second.transport
    assert get_transport(Channel.SMS) is main.transport


def test_the_short_form_lists_nobody(change: Settings) -> None:
    change(CHANNELS={"sms": {"TRANSPORT": SCRIPTED}})
    assert get_providers(Channel.SMS) == ()
    assert check_providers() == []
