from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resetdelivery.domain.lease import lease_seconds, waves


@pytest.mark.parametrize(
    ("wished", "budget", "margin", "lease"),
    [
        (30, 15, 5, 30),
        (20, 15, 5, 20),
        (19.999, 15, 5, 20),  # never shorter than one send and its bookkeeping
        (0, 15, 5, 20),
        (-1, 15, 5, 20),
    ],
)
def test_a_lease_outlives_a_send_whatever_was_wished(
    wished: float, budget: float, margin: float, lease: float
) -> None:
    assert lease_seconds(wished, budget, margin) == lease


@given(rows=st.lists(st.integers()), width=st.integers(1, 60))
def test_waves_keep_every_row_in_order_and_are_full_but_for_the_last(rows: list[int], width: int) -> None:
    cut = waves(rows, width)
    assert [row for wave in cut for row in wave] == rows
    assert all(len(wave) == width for wave in cut[:-1])
    assert all(1 <= len(wave) <= width for wave in cut)
