from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from django.core.checks import run_checks

DAY = dt.timedelta(days=1)
KEY = "a pseudonym key for tests"
OURS = {f"resetdelivery.{name}" for name in ("E119", "W117", "W118", "W119", "W120")}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"FIRST_SLICE": 999}, []),
        ({"FIRST_SLICE": 1000}, ["W117"]),
        ({"FIRST_SLICE": 1001}, ["E119"]),
        ({"ROLLOUT_WINDOW": dt.timedelta(minutes=1)}, []),
        ({"ROLLOUT_WINDOW": dt.timedelta(seconds=59)}, ["E119"]),
        ({"ROLLOUT_WINDOW": 35 * DAY}, []),
        ({"ROLLOUT_WINDOW": 35 * DAY + dt.timedelta(seconds=1)}, ["W118"]),
        ({"ROLLOUT_VERIFIED_FOR": dt.timedelta(0)}, ["E119"]),
        ({"ROLLOUT_VERIFIED_FOR": 730 * DAY}, []),
        ({"ROLLOUT_VERIFIED_FOR": 731 * DAY}, ["W119"]),
        ({"PSEUDONYM_KEYS": {"9": KEY}}, []),
        ({"PSEUDONYM_KEYS": {"1": KEY, "2": KEY}}, []),
        ({"PSEUDONYM_KEYS": {"2": KEY, "1": KEY}}, []),
        ({"PSEUDONYM_KEYS": {"9": KEY, "10": KEY}}, ["W120"]),
        ({"PSEUDONYM_KEYS": {"10": KEY, "9": KEY}}, ["W120"]),
        ({"PSEUDONYM_KEYS": {"new": KEY, "old": KEY}}, ["W120"]),
        ({"PSEUDONYM_KEYS": {"young": KEY, "old": KEY}}, []),
    ],
)
def test_settings_by_which_no_step_could_be_judged_are_named(
    settings: Any, changes: dict[str, Any], expected: list[str]
) -> None:
    settings.RESETDELIVERY = {**settings.RESETDELIVERY, **changes}
    found = [one for one in run_checks(tags=["resetdelivery"]) if one.id in OURS]
    assert [str(one.id).removeprefix("resetdelivery.") for one in found] == expected
    assert all(name in one.msg for one, name in zip(found, changes, strict=False))
    assert all(one.hint for one in found)
