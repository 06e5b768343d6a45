from __future__ import annotations

import math
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resetdelivery.domain.queueing import (
    Station,
    at_least,
    erlang_c,
    mean_wait,
    occupancy,
    order_statistic_within,
    rounds_per_second,
    slowest_of,
)


@pytest.mark.parametrize(
    ("servers", "load", "waits"),
    [
        # One server: the load itself.
        (1, 0.5, 0.5),
        # By hand: (a^c/c! * c/(c-a)) over itself and the sum of a^n/n! below it.
        (2, 1.0, 1 / 3),
        (3, 2.0, 4 / 9),
        (10, 8.0, 0.409180),
        # Nobody waits without load, everybody beyond the servers.
        (4, 0.0, 0.0),
        (4, 4.0, 1.0),
    ],
)
def test_who_has_to_wait_is_erlangs_table(servers: int, load: float, waits: float) -> None:
    assert erlang_c(servers, load) == pytest.approx(waits, abs=1e-5)


def test_the_mean_wait_of_one_server_is_load_over_room_times_service() -> None:
    assert mean_wait(1, 0.8, 2.0) == pytest.approx(8.0)


def test_even_service_halves_the_mean_wait_of_one_server_as_pollaczek_and_khinchine_say() -> None:
    assert mean_wait(1, 0.8, 2.0, variability=0.5) == pytest.approx(4.0)


def test_the_mean_wait_has_no_end_where_more_arrives_than_is_served() -> None:
    assert mean_wait(3, 3.0, 1.0) == math.inf


@given(servers=st.integers(1, 200), share=st.floats(0.01, 0.98))
def test_more_load_makes_more_of_them_wait(servers: int, share: float) -> None:
    assert erlang_c(servers, servers * share) <= erlang_c(servers, servers * (share + 0.01))


def shares_of(servers: int, places: int, load: float, variability: float = 1.0) -> tuple[float, ...]:
    """The shares with a free server, with 1, 2, ... waiting next, and with all places taken."""
    found = occupancy(servers, places, load, variability=variability)
    waiting = dict(found.ranks(groups=places))
    ranks = range(1, places - servers + 1)
    return (found.free, *(waiting.get(rank, 0.0) for rank in ranks), found.full)


def test_a_queue_with_one_place_is_full_as_often_as_erlang_b_says() -> None:
    assert shares_of(1, 1, 0.5) == pytest.approx((2 / 3, 1 / 3))


def test_a_queue_of_one_server_and_three_places_is_as_full_as_the_geometric_series() -> None:
    assert shares_of(1, 3, 2.0) == pytest.approx((1 / 15, 2 / 15, 4 / 15, 8 / 15))


def state_by_state(servers: int, places: int, load: float, variability: float) -> tuple[float, ...]:
    """The same, from the share of each number in the queue: written down one after the other."""
    ratio = load / servers
    step = ratio if variability == 1.0 else math.exp(2.0 * (ratio - 1.0) / (ratio + variability))
    weights = [1.0]
    for number in range(1, places):
        weights.append(weights[-1] * (load / number if number <= servers else step))
    served = math.fsum(weight * min(number, servers) for number, weight in enumerate(weights))
    full = max(0.0, (load * math.fsum(weights) - served) / servers)
    total = math.fsum(weights) + full
    free, waiting = math.fsum(weights[:servers]), weights[servers:]
    return tuple(one / total for one in (free, *waiting, full))


@given(
    servers=st.integers(1, 40),
    extra=st.integers(1, 50),
    share=st.floats(0.05, 3.0),
    variability=st.sampled_from([0.1, 0.5, 1.0]),
)
def test_a_queue_is_as_full_as_its_states_one_by_one_say(
    servers: int, extra: int, share: float, variability: float
) -> None:
    load = servers * share
    expected = state_by_state(servers, servers + extra, load, variability)
    found = shares_of(servers, servers + extra, load, variability)
    assert math.fsum(found) == pytest.approx(1.0)
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("load", [0.0, 20_000.0, 990_000.0, 1_000_000.0, 1_000_001.0, 4_000_000.0])
def test_a_million_servers_are_not_gone_through_one_by_one(load: float) -> None:
    lines = 0

    def count(*_: Any) -> Any:
        nonlocal lines
        lines += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        found = occupancy(1_000_000, 2_000_004, load, variability=0.1)
        ranks = list(found.ranks())
    finally:
        sys.settrace(before)
    assert lines < 200_000
    assert len(ranks) <= 128
    assert found.free + math.fsum(share for _, share in ranks) + found.full == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("number", "mean", "share"),
    [(0, 3.0, 1.0), (1, 0.0, 0.0), (1, 1.0, 1 - math.exp(-1)), (2, 1.0, 1 - 2 * math.exp(-1))],
)
def test_a_poisson_variable_is_at_least_so_much_so_often(number: int, mean: float, share: float) -> None:
    assert at_least(number, mean) == pytest.approx(share)


def test_the_slowest_of_one_takes_the_mean_and_of_many_longer() -> None:
    assert slowest_of(1, 0.2, 0.1) == pytest.approx(0.2, rel=0.01)
    assert 0.2 < slowest_of(4, 0.2, 0.1) < slowest_of(16, 0.2, 0.1)


def test_the_slowest_of_times_that_do_not_scatter_is_any_of_them() -> None:
    assert slowest_of(16, 0.2, 0.0) == 0.2


def test_one_customer_waits_for_nobody() -> None:
    stations = [Station(demand=0.1), Station(demand=0.2, servers=4)]
    assert rounds_per_second(1, stations, 0.7) == pytest.approx(1.0)


def test_two_customers_at_one_server_come_near_the_exact_answer_of_mean_value_analysis() -> None:
    # Exactly 2 / 3 with a demand and a pause of one second each: R(2) = 1 + 1/2, X = 2 / (R + 1) = 4 / 5.
    assert rounds_per_second(2, [Station(demand=1.0)], 1.0) == pytest.approx(0.8, rel=0.05)


@given(customers=st.integers(1, 300), demand=st.floats(0.001, 1.0), servers=st.integers(1, 8))
def test_no_number_of_customers_gets_more_than_the_servers_have(
    customers: int, demand: float, servers: int
) -> None:
    rate = rounds_per_second(customers, [Station(demand=demand, servers=servers)], 1.0)
    assert rate <= min(servers / demand, customers / (1.0 + demand)) * (1 + 1e-9)


def test_copies_of_a_station_are_visited_by_their_own_customers() -> None:
    alone = rounds_per_second(4, [Station(demand=0.1)], 1.0)
    beside = rounds_per_second(12, [Station(demand=0.1, copies=3)], 1.0)
    assert beside == pytest.approx(3 * alone)


@pytest.mark.parametrize(
    ("share", "rank", "number", "expected"),
    [
        (-0.1, 1, 3, 0.0),
        (1.0, 3, 3, 1.0),
        (0.5, 1, 1, 0.5),
        # At least one of two, both of two.
        (0.5, 1, 2, 0.75),
        (0.5, 2, 2, 0.25),
    ],
)
def test_so_many_of_some_uniform_values_are_below(
    share: float, rank: int, number: int, expected: float
) -> None:
    assert order_statistic_within(share, rank, number) == pytest.approx(expected)


def test_for_many_values_the_normal_distribution_continues_the_exact_one() -> None:
    assert order_statistic_within(0.5, 31, 61) == pytest.approx(0.5)
    assert order_statistic_within(0.4, 30, 60) == pytest.approx(order_statistic_within(0.4, 31, 62), abs=0.02)
