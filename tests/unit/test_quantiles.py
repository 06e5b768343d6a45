from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resetdelivery.domain.quantiles import quantile
from resetdelivery.domain.telemetry import QUEUE_DELAY_SECONDS, bucket_of, counted

BOUNDS = (1.0, 2.0, 4.0)


@pytest.mark.parametrize(
    ("share", "counts", "value"),
    [
        (0.5, [10, 0, 0, 0], 0.5),  # halfway through the first bucket, which begins at zero
        (0.95, [10, 0, 0, 0], 0.95),
        (0.5, [5, 5, 0, 0], 1.0),  # at the bound itself
        (0.75, [5, 5, 0, 0], 1.5),
        (0.5, [0, 0, 2, 0], 3.0),  # empty buckets below take no part
        (0.99, [0, 100, 0, 0], 1.99),
        (0.5, [1, 0, 0, 0], 0.5),
    ],
)
def test_a_quantile_lies_on_a_straight_line_through_its_bucket(
    share: float, counts: list[int], value: float
) -> None:
    assert quantile(share, counts, BOUNDS) == pytest.approx(value)


@pytest.mark.parametrize("counts", [[], [0, 0, 0, 0]])
def test_no_values_have_no_quantile(counts: list[int]) -> None:
    assert quantile(0.5, counts, BOUNDS) is None


def test_above_the_last_bound_nothing_is_made_up() -> None:
    assert quantile(0.95, [90, 0, 0, 10], BOUNDS) is None
    assert quantile(0.9, [90, 0, 0, 10], BOUNDS) == 1.0


def test_where_the_most_is_known_the_last_bucket_ends_there() -> None:
    assert quantile(0.5, [0, 0, 0, 4], BOUNDS, top=6.0) == 5.0


@given(
    st.lists(st.floats(min_value=0.001, max_value=900), min_size=1, max_size=200),
    st.sampled_from([0.5, 0.95, 0.99]),
)
def test_a_quantile_is_in_the_bucket_of_the_true_one(values: list[float], share: float) -> None:
    true = sorted(values)[math.ceil(share * len(values)) - 1]
    told = quantile(share, counted(values, QUEUE_DELAY_SECONDS), QUEUE_DELAY_SECONDS)
    assert told is not None
    bucket = bucket_of(true, QUEUE_DELAY_SECONDS)
    lower = QUEUE_DELAY_SECONDS[bucket - 1] if bucket else 0.0
    assert lower <= told <= QUEUE_DELAY_SECONDS[bucket]
