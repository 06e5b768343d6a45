from __future__ import annotations

import datetime as dt
import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resetdelivery.domain.retry import (
    RetryPolicy,
    backoff_seconds,
    full_jitter,
    retry_delay_seconds,
    retry_fits,
    still_useful,
)

NOW = dt.datetime(2026, 3, 29, 0, 59, 30, tzinfo=dt.UTC)
POLICY = RetryPolicy(
    base_seconds=2,
    factor=3,
    cap_seconds=60,
    expected_queue_delay_seconds=1,
    expected_latency_seconds=2,
    min_useful_seconds=30,
)


@pytest.mark.parametrize(
    ("attempts", "seconds"),
    [
        (0, 2),  # nothing tried yet counts as one try
        (1, 2),
        (2, 6),
        (3, 18),
        (4, 54),
        (5, 60),  # 162, capped
        (6, 60),
        (10_000, 60),  # 3**9999 overflows a float
        (sys.maxsize, 60),
    ],
)
def test_the_backoff_grows_by_its_factor_up_to_its_cap(attempts: int, seconds: float) -> None:
    assert backoff_seconds(POLICY, attempts) == seconds


def test_a_huge_factor_does_not_overflow_at_a_small_number_of_tries() -> None:
    assert backoff_seconds(RetryPolicy(factor=1e200, cap_seconds=60), 3) == 60


def test_a_factor_of_one_waits_the_same_each_time() -> None:
    policy = RetryPolicy(base_seconds=5, factor=1)
    assert {backoff_seconds(policy, n) for n in (1, 2, 100, 10**9)} == {5}


@given(
    attempts=st.integers(0, 10**9),
    base=st.floats(0, 1e6),
    factor=st.floats(1, 1e9),
    cap=st.floats(0, 1e6),
)
def test_the_backoff_never_exceeds_its_cap(attempts: int, base: float, factor: float, cap: float) -> None:
    policy = RetryPolicy(base_seconds=base, factor=factor, cap_seconds=cap)
    assert 0 <= backoff_seconds(policy, attempts) <= cap


@pytest.mark.parametrize(("draw", "seconds"), [(0.0, 0.0), (0.25, 15.0), (0.5, 30.0), (0.999, 59.94)])
def test_full_jitter_draws_from_the_whole_interval(draw: float, seconds: float) -> None:
    assert full_jitter(60, draw) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("retry_after", "seconds"),
    [
        (None, 1.0),  # ours: half of two seconds
        (0.0, 0.0),
        (0.5, 0.5),
        (120.0, 120.0),  # beyond our cap: the provider knows better
        (-5.0, 0.0),  # a date in the past
    ],
)
def test_the_providers_delay_wins_over_ours(retry_after: float | None, seconds: float) -> None:
    assert retry_delay_seconds(POLICY, 1, 0.5, retry_after) == seconds


@pytest.mark.parametrize(
    ("delay", "life", "fits"),
    [
        # The delay, then 1 s in the queue, 2 s on the way, 30 s for the reader.
        (0, 33.0, True),
        (0, 32.999, False),
        (10, 43.0, True),
        (10, 42.999, False),
        (10, 43.001, True),
        (0, 0, False),
        (0, -5, False),
        (1e300, 600, False),
        (math.inf, 600, False),
        (math.nan, 600, False),
    ],
)
def test_a_retry_fits_up_to_its_boundary_and_not_a_millisecond_less(
    delay: float, life: float, fits: bool
) -> None:
    expires_at = NOW + dt.timedelta(seconds=life)
    assert retry_fits(POLICY, now=NOW, delay_seconds=delay, expires_at=expires_at) is fits


@pytest.mark.parametrize(("life", "useful"), [(32.0, True), (31.999, False), (32.001, True), (-1, False)])
def test_a_submission_is_useful_while_latency_and_reading_time_are_left(life: float, useful: bool) -> None:
    assert still_useful(POLICY, now=NOW, expires_at=NOW + dt.timedelta(seconds=life)) is useful


@given(delay=st.floats(0, 1e4), life=st.floats(0, 1e5))
def test_a_retry_that_fits_is_still_useful_when_its_time_comes(delay: float, life: float) -> None:
    expires_at = NOW + dt.timedelta(seconds=life)
    due_at = NOW + dt.timedelta(seconds=delay)
    fits = retry_fits(POLICY, now=NOW, delay_seconds=delay, expires_at=expires_at)
    assert not fits or still_useful(POLICY, now=due_at, expires_at=expires_at)
