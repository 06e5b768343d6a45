"""The meter's arithmetic, with the time as an argument."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resetdelivery.domain.gcra import Metered, Rate, meter

#: Three at once, and one comes back each second.
THREE = Rate(limit=3, period=dt.timedelta(seconds=3))
NOW = 1_800_000_000_000_000
SECOND = 1_000_000

rates = st.builds(
    Rate, limit=st.integers(1, 1000), period=st.timedeltas(dt.timedelta(seconds=1), dt.timedelta(days=1))
)
gaps = st.lists(st.integers(0, 10 * SECOND), max_size=60)


@pytest.mark.parametrize(
    ("arrival", "wait", "stored"),
    [
        (None, 0, NOW + SECOND),  # the first call
        (NOW - 1, 0, NOW + SECOND),  # a meter that has run empty is as good as none
        (NOW, 0, NOW + SECOND),
        (NOW + SECOND, 0, NOW + 2 * SECOND),
        (NOW + 2 * SECOND, 0, NOW + 3 * SECOND),  # the last of the burst
        (NOW + 2 * SECOND + 1, 1, NOW + 2 * SECOND + 1),  # a microsecond too early
        (NOW + 3 * SECOND, SECOND, NOW + 3 * SECOND),  # full
        (NOW + 9 * SECOND, SECOND, NOW + 3 * SECOND),  # the clock was set back: not nine seconds
    ],
)
def test_a_call_is_judged_by_when_it_would_have_come_at_the_rate(
    arrival: int | None, wait: int, stored: int
) -> None:
    assert meter(THREE, arrival_us=arrival, now_us=NOW) == Metered(wait_us=wait, arrival_us=stored)


@pytest.mark.parametrize(
    ("limit", "seconds", "interval"),
    [(10, 600, 60_000_000), (600, 60, 100_000), (20, 3600, 180_000_000), (1, 1, 1_000_000), (7, 1, 142_858)],
)
def test_the_interval_is_the_period_shared_out_and_rounded_up(
    limit: int, seconds: int, interval: int
) -> None:
    assert Rate(limit=limit, period=dt.timedelta(seconds=seconds)).interval_us == interval


def calls(rate: Rate, pauses: list[int]) -> list[tuple[int, int]]:
    """Time and wait of one call after each of the pauses."""
    now, arrival, found = NOW, None, []
    for pause in pauses:
        now += pause
        answer = meter(rate, arrival_us=arrival, now_us=now)
        arrival = answer.arrival_us
        found.append((now, answer.wait_us))
    return found


@given(rates)
def test_exactly_the_limit_passes_at_once(rate: Rate) -> None:
    waits = [wait for _, wait in calls(rate, [0] * (rate.limit + 1))]
    assert waits[:-1] == [0] * rate.limit
    assert waits[-1] == rate.interval_us


@given(rates, gaps)
def test_whoever_waits_as_long_as_told_passes(rate: Rate, pauses: list[int]) -> None:
    arrival, now = None, NOW
    for pause in pauses:
        now += pause
        answer = meter(rate, arrival_us=arrival, now_us=now)
        if answer.wait_us:
            now += answer.wait_us
            answer = meter(rate, arrival_us=answer.arrival_us, now_us=now)
        assert answer.wait_us == 0
        arrival = answer.arrival_us


@given(rates, gaps)
def test_no_stretch_of_time_lets_more_pass_than_burst_and_rate(rate: Rate, pauses: list[int]) -> None:
    passed = [at for at, wait in calls(rate, pauses) if wait == 0]
    for first in range(len(passed)):
        for last in range(first, len(passed)):
            allowed = rate.limit + (passed[last] - passed[first]) // rate.interval_us
            assert last - first + 1 <= allowed


@given(rates, gaps)
def test_nobody_waits_longer_than_one_interval_however_often_they_ask(rate: Rate, pauses: list[int]) -> None:
    assert all(wait <= rate.interval_us for _, wait in calls(rate, pauses))
