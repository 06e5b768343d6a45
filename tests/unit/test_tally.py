"""Sums of what attempts measured."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resetdelivery.domain.tally import UNITS, Group, Sums, negative, plus, sums_of

NOT_MEASURED = (None, None, None, None)
NOTHING = [0, 0, 0, 0, 0]


def group(
    number: int = 1, segments: str = "", buckets: Any = NOT_MEASURED, units: Any = (0, 0, 0, 0)
) -> Group:
    return Group(number=number, segments=segments, buckets=buckets, units=units)


def test_groups_are_added_bucket_by_bucket() -> None:
    sums = sums_of(
        [group(2, buckets=(0, None, 6, 1), units=(512, 0, 2048, 0)), group(3, buckets=(0, 9, 6, 1))]
    )
    assert sums.attempts == 5
    assert sums.queue_delay_counts == [5] + [0] * 13
    assert sums.duration_counts == [0] * 9 + [3]
    assert sums.remaining_counts == [0] * 6 + [5]
    assert sums.lease_used_counts == [0, 5, 0, 0, 0, 0, 0]
    assert (sums.queue_delay_seconds, sums.remaining_ratio) == (0.5, 2.0)


@pytest.mark.parametrize(
    ("segments", "expected"),
    [
        ("1", [4, 0, 0, 0, 0]),
        ("4-6", [0, 0, 0, 4, 0]),
        ("7+", [0, 0, 0, 0, 4]),
        ("", [0] * 5),
        ("?", [0] * 5),
    ],
)
def test_segments_are_counted_in_the_order_of_their_buckets(segments: str, expected: list[int]) -> None:
    assert sums_of([group(4, segments)]).segments_counts == expected


def test_nothing_added_to_something_leaves_it() -> None:
    something = sums_of([group(2, "1", (0, 1, 2, 3), (1, 2, 3, 4))])
    assert plus(Sums(), something) == something


groups = st.lists(
    st.builds(
        group,
        st.integers(1, 9),
        st.sampled_from(["", "1", "7+"]),
        st.tuples(st.integers(0, 13), st.none() | st.integers(0, 9), st.integers(0, 6), st.integers(0, 6)),
        st.tuples(*[st.integers(0, UNITS * 900)] * 4),
    ),
    min_size=1,
    max_size=6,
)


@given(groups, groups)
def test_what_is_taken_away_again_leaves_no_trace(first: list[Group], second: list[Group]) -> None:
    one, other = sums_of(first), sums_of(second)
    assert plus(one, other, negative(other)) == one


@given(groups)
def test_a_sum_is_the_same_in_any_order(some: list[Group]) -> None:
    each = [sums_of([one]) for one in some]
    assert plus(*each) == plus(*reversed(each)) == sums_of(some)
