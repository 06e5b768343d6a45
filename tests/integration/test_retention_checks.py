from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks

CONSOLE = {"TRANSPORT": "notifications.console.ConsoleTransport"}
GOOD: dict[str, Any] = {"RESET_BASE_URL": "https://shop.example", "CHANNELS": {"email": CONSOLE}}
MINUTE = dt.timedelta(minutes=1)
DAY = dt.timedelta(days=1)
OURS = {f"resetdelivery.{kind}11{number}" for kind in "EW" for number in range(5)}


def found(settings: Any, **changes: Any) -> list[CheckMessage]:
    """What the checks of retention say of a good configuration with changes."""
    settings.RESETDELIVERY = {**GOOD, **changes}
    return [one for one in run_checks(tags=["resetdelivery"]) if one.id in OURS]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"KEEP_ATTEMPTS": 30 * DAY}, []),
        ({"KEEP_ATTEMPTS": 31 * DAY}, ["E110"]),
        ({"KEEP_ACCOUNT_REFS": 31 * DAY}, ["E111"]),
        ({"KEEP_SHADOWS": 31 * DAY}, ["E111", "W113"]),
        ({"KEEP_IDEMPOTENCY_KEYS": 31 * DAY, "KEEP_DECOYS": 31 * DAY}, ["E111"]),
        ({"KEEP_PROVIDER_REFERENCES": 8 * DAY, "KEEP_ACCOUNT_REFS": 8 * DAY}, ["E111"]),
        ({"KEEP_DECOYS": DAY - MINUTE}, ["E112"]),
        ({"KEEP_IDEMPOTENCY_KEYS": 2 * DAY}, ["E112"]),
        ({"PURGE_BATCH": 10_000}, []),
        ({"PURGE_BATCH": 10_001}, ["E113"]),
        ({"KEEP_MINUTES": DAY}, []),
        ({"KEEP_MINUTES": DAY - MINUTE}, ["E114"]),
        ({"KEEP_IDEMPOTENCY_KEYS": DAY - MINUTE}, ["W110"]),
        ({"KEEP_PROVIDER_REFERENCES": 2 * DAY}, ["W111"]),
        ({"KEEP_ATTEMPTS": 29 * MINUTE, "KEEP_PROVIDER_REFERENCES": MINUTE}, ["W112"]),
        ({"KEEP_ATTEMPTS": 30 * MINUTE, "KEEP_PROVIDER_REFERENCES": MINUTE}, []),
        ({"KEEP_SHADOWS": DAY + MINUTE}, ["W113"]),
    ],
)
def test_durations_that_do_not_fit_each_other_are_named(
    settings: Any, changes: dict[str, Any], expected: list[str]
) -> None:
    ids = [str(one.id).removeprefix("resetdelivery.") for one in found(settings, **changes)]
    assert ids == expected


@pytest.mark.parametrize(
    "changes",
    [
        {"KEEP_ATTEMPTS": 31 * DAY},
        {"KEEP_DECOYS": MINUTE},
        {"PURGE_BATCH": 10_001},
        {"KEEP_MINUTES": MINUTE},
        {"KEEP_IDEMPOTENCY_KEYS": MINUTE},
    ],
)
def test_each_message_names_its_setting_and_value_and_has_a_hint(
    settings: Any, changes: dict[str, Any]
) -> None:
    ((name, value),) = changes.items()
    messages = found(settings, **changes)
    assert messages
    assert all(name in message.msg and str(value) in message.msg for message in messages)
    assert all(message.hint for message in messages)


def test_everything_may_be_kept_for_no_time_at_all(settings: Any) -> None:
    names = ("ACCOUNT_REFS", "SHADOWS", "PROVIDER_REFERENCES")
    assert found(settings, **{f"KEEP_{name}": dt.timedelta(0) for name in names}) == []
