from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks

CONSOLE = {"TRANSPORT": "notifications.console.ConsoleTransport"}
GOOD: dict[str, Any] = {"RESET_BASE_URL": "https://shop.example", "CHANNELS": {"email": CONSOLE}}


def found(settings: Any, *, deploy: bool = False, **changes: Any) -> list[CheckMessage]:
    """What our checks say of limits under a good configuration with changes."""
    settings.RESETDELIVERY = {**GOOD, **changes}
    messages = run_checks(tags=["resetdelivery"], include_deployment_checks=deploy)
    return [one for one in messages if str(one.id).removeprefix("resetdelivery.")[1:3] == "08"]


def ids(messages: list[CheckMessage]) -> list[str]:
    ours = {"resetdelivery.E080", "resetdelivery.W080", "resetdelivery.W081"}
    return [str(one.id).removeprefix("resetdelivery.") for one in messages if one.id in ours]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"ACCOUNT_PER_HOUR": 3, "ACCOUNT_PER_DAY": 3}, []),
        ({"ADMISSION_LOCK_TIMEOUT": dt.timedelta(milliseconds=1)}, []),
        ({"ADMISSION_LOCK_TIMEOUT": dt.timedelta(0)}, ["E080"]),
        ({"ADMISSION_LOCK_TIMEOUT": dt.timedelta(microseconds=999)}, ["E080"]),
        ({"ACCOUNT_PER_DAY": 2}, ["W080"]),
        ({"ACCOUNT_PER_DAY": 2, "DESTINATION_PER_DAY": 1}, ["W080", "W080"]),
        ({"ACCOUNT_PER_HOUR": 1000, "ACCOUNT_PER_DAY": 1000}, []),
    ],
)
def test_limits_that_contradict_each_other_are_named(
    settings: Any, changes: dict[str, Any], expected: list[str]
) -> None:
    assert ids(found(settings, **changes)) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"DESTINATION_PER_HOUR": 20, "DESTINATION_PER_DAY": 50}, []),
        ({"DESTINATION_PER_HOUR": 21, "DESTINATION_PER_DAY": 50}, ["W081"]),
        ({"ACCOUNT_PER_HOUR": 1000, "ACCOUNT_PER_DAY": 1000}, ["W081"]),
    ],
)
def test_a_deployment_whose_limits_let_a_mailbox_be_flooded_is_warned(
    settings: Any, changes: dict[str, Any], expected: list[str]
) -> None:
    assert ids(found(settings, deploy=True, **changes)) == expected


@pytest.mark.parametrize("name", ["ACCOUNT_PER_HOUR", "ACCOUNT_PER_DAY", "DESTINATION_PER_HOUR"])
@pytest.mark.parametrize("value", [0, -1, True, "3", 2.5, None])
def test_a_limit_is_a_whole_number_of_one_or_more(settings: Any, name: str, value: object) -> None:
    settings.RESETDELIVERY = {**GOOD, name: value}
    (message,) = run_checks(tags=["resetdelivery"])
    assert (message.id, name in message.msg) == ("resetdelivery.E001", True)


@pytest.mark.parametrize(
    "changes", [{"ADMISSION_LOCK_TIMEOUT": dt.timedelta(0)}, {"ACCOUNT_PER_DAY": 1}, {"ACCOUNT_PER_HOUR": 99}]
)
def test_each_message_names_its_setting_and_has_a_hint(settings: Any, changes: dict[str, Any]) -> None:
    (name,) = changes
    messages = [one for one in found(settings, deploy=True, **changes) if name in f"{one.msg} {one.hint}"]
    assert messages
    assert all(message.hint for message in messages)
