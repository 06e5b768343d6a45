"""The hours and days of the SMS budget, in the script itself: the time is given to it."""

from __future__ import annotations

import pytest
import redis

from resetdelivery.throttles.connection import run
from resetdelivery.throttles.sms import WITHIN

HOUR_US, DAY_US = 3_600_000_000, 86_400_000_000
#: A midnight.
NOW = 20_000 * DAY_US


def answers(now: int, *segments: int, hour: int | str = "", day: int | str = "") -> list[int]:
    """What the script says of messages to ranges of their own at a moment."""
    keys = [name for i in range(len(segments)) for name in (f"delivery {now} {i}", f"range {now} {i}")]
    own = [value for count in segments for value in (60_000, count, 1, HOUR_US, 20)]
    found: list[int] = run(WITHIN, ["spent", *keys], [hour, day, now, *own])
    return found


@pytest.mark.parametrize(
    ("budgets", "second_at", "second"),
    [
        ({"hour": 3}, NOW + HOUR_US - 1, 2),  # still the same hour
        ({"hour": 3}, NOW + HOUR_US, 0),
        ({"day": 3}, NOW + HOUR_US, 2),
        ({"day": 3}, NOW + DAY_US - 1, 2),
        ({"day": 3}, NOW + DAY_US, 0),
        ({"hour": 3, "day": 9}, NOW + HOUR_US, 0),
        ({"hour": 3, "day": 4}, NOW + HOUR_US, 2),
        ({}, NOW, 0),
    ],
)
def test_budgets_are_for_whole_hours_and_days_in_utc(
    limits: redis.Redis[bytes], budgets: dict[str, int], second_at: int, second: int
) -> None:
    assert answers(NOW, 3, **budgets) == [0]
    assert answers(second_at, 3, **budgets) == [second]


def test_a_message_that_does_not_fit_leaves_room_for_one_that_does(limits: redis.Redis[bytes]) -> None:
    assert answers(NOW, 2, 2, 1, 1, hour=3) == [0, 2, 0, 2]
