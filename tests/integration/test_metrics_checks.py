from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks

CONSOLE = {"TRANSPORT": "notifications.console.ConsoleTransport"}
GOOD: dict[str, Any] = {"RESET_BASE_URL": "https://shop.example", "CHANNELS": {"email": CONSOLE}}
OURS = {f"resetdelivery.{number}" for number in ("E100", "W100", "W101", "W102")}


def found(settings: Any, **changes: Any) -> list[CheckMessage]:
    settings.RESETDELIVERY = {**GOOD, **changes}
    return [one for one in run_checks(tags=["resetdelivery"]) if one.id in OURS]


def ids(messages: list[CheckMessage]) -> list[str]:
    return [str(one.id).removeprefix("resetdelivery.") for one in messages]


def providers(number: int) -> dict[str, Any]:
    return {"email": {"PROVIDERS": [{"NAME": f"p{n}", **CONSOLE} for n in range(number)]}}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"SCRAPE_TIMEOUT": dt.timedelta(milliseconds=1)}, []),
        ({"SCRAPE_TIMEOUT": dt.timedelta(microseconds=999)}, ["E100"]),
        ({"SCRAPE_TIMEOUT": dt.timedelta(0)}, ["E100"]),
        ({"SCRAPE_TIMEOUT": dt.timedelta(seconds=9.9)}, []),
        ({"SCRAPE_TIMEOUT": dt.timedelta(seconds=10)}, ["W100"]),
        ({"MEASURED_VERSIONS": ["a", "b", "c"]}, []),
        ({"MEASURED_VERSIONS": ["a", "b", "c", "1"]}, []),
        ({"MEASURED_VERSIONS": ["a", "b", "c", "d"]}, ["W101"]),
        ({"CHANNELS": providers(8)}, []),
        ({"CHANNELS": providers(9)}, ["W102"]),
    ],
)
def test_what_would_say_less_than_it_seems_to_is_named(
    settings: Any, changes: dict[str, Any], expected: list[str]
) -> None:
    assert ids(found(settings, **changes)) == expected


@pytest.mark.parametrize(
    ("changes", "name"),
    [({"MEASURED_VERSIONS": ["a", "b", "c", "late"]}, "late"), ({"CHANNELS": providers(9)}, "p8")],
)
def test_what_has_no_label_is_named_with_what_to_do(
    settings: Any, changes: dict[str, Any], name: str
) -> None:
    (message,) = found(settings, **changes)
    assert name in message.msg
    assert message.hint
