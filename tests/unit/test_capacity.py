from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resetdelivery.domain.capacity import (
    Cost,
    Costs,
    Flow,
    System,
    changed,
    highest_rate,
    limits,
    saturated_rate,
    utilisation,
)
from resetdelivery.domain.queue_delay import queue_delay
from resetdelivery.domain.scale import database_cores_for, load, scale_limits, workers_for

COSTS = Costs(
    hint=Cost(worker=0.002),
    claim=Cost(worker=0.0015, database=0.0008, waiting=0.0005),
    wave=Cost(worker=0.0025, database=0.0015, waiting=0.003),
    row=Cost(worker=0.0006, database=0.0002),
    admission=Cost(database=0.001),
    pickup=0.003,
)
FREE = Costs(hint=Cost(), claim=Cost(), wave=Cost(), row=Cost(), admission=Cost(), pickup=0.0)


def system(**values: Any) -> System:
    usual: dict[str, Any] = {
        "workers": 1,
        "concurrency": 4,
        "wave": 16,
        "claim_limit": 50,
        "hint_backlog": 4,
        "fill_after": 1.0,
        "useful_life": 600.0,
        "latency": 0.1,
        "deviation": 0.0,
        "costs": COSTS,
    }
    return System(**{**usual, **values})


def test_without_costs_a_thread_delivers_a_batch_in_as_many_answers_as_it_has_waves() -> None:
    # 50 rows in waves of 16 are four answers of 100 ms; four threads.
    assert saturated_rate(system(costs=FREE)) == pytest.approx(4 * 50 / 0.4)


def test_without_latency_a_process_delivers_what_its_one_interpreter_can() -> None:
    costs = dataclasses.replace(FREE, row=Cost(worker=0.002))
    assert saturated_rate(system(costs=costs, latency=0.0)) == pytest.approx(500.0)
    assert saturated_rate(system(costs=costs, latency=0.0, workers=2)) == pytest.approx(1000.0)


def test_an_admission_costs_the_database_what_then_is_missing_for_deliveries() -> None:
    costs = dataclasses.replace(FREE, row=Cost(database=0.001), admission=Cost(database=0.003))
    asked = system(costs=costs, latency=0.0, database_cores=2, concurrency=64)
    assert saturated_rate(asked) == pytest.approx(2000.0, rel=0.02)
    assert highest_rate(asked) == pytest.approx(500.0)


def test_what_shares_the_cores_is_bound_by_all_work_together() -> None:
    costs = dataclasses.replace(FREE, row=Cost(worker=0.001, database=0.001), surroundings=0.002)
    found = limits(system(costs=costs, latency=0.0, concurrency=16, shared_cores=2))
    assert found[0].name == "this machine"
    assert found[0].rate == pytest.approx(500.0)


def test_a_process_has_only_so_many_threads_for_submissions() -> None:
    # Of 64 threads each may submit four at once: sixteen are four rounds.
    assert system(concurrency=64).wave_latency(16) == pytest.approx(0.4)


@pytest.mark.parametrize(
    "better",
    [
        {"workers": 2},
        {"concurrency": 5},
        {"latency": 0.09},
        {"wave": 25},
        {"costs": dataclasses.replace(COSTS, row=Cost(worker=0.0005, database=0.0002))},
    ],
    ids=lambda better: next(iter(better)),
)
def test_more_of_what_helps_delivers_more(better: dict[str, Any]) -> None:
    assert saturated_rate(system(**better)) > saturated_rate(system())


@given(share=st.floats(0.01, 0.95))
def test_below_the_highest_rate_nothing_expires_and_the_delay_has_an_end(
    share: float,
) -> None:
    asked = system()
    found = queue_delay(asked, share * highest_rate(asked))
    assert not found.saturated
    assert found.expired_share == 0.0
    assert found.p95 < math.inf


@given(
    workers=st.integers(1, 8),
    concurrency=st.integers(1, 256),
    latency=st.floats(0.0, 2.0),
    share=st.floats(0.05, 0.99),
    cores=st.integers(1, 8),
)
@settings(deadline=None, max_examples=25)
def test_nothing_is_busier_than_it_can_be(
    workers: int, concurrency: int, latency: float, share: float, cores: int
) -> None:
    asked = system(workers=workers, concurrency=concurrency, latency=latency, database_cores=cores)
    found = queue_delay(asked, share * highest_rate(asked))
    assert not found.saturated
    assert max(utilisation(asked, found.flow).values()) <= 1.005


def test_threads_that_find_no_processor_make_batches_larger_and_wait_for_each_other() -> None:
    asked = system(concurrency=64, latency=0.12)
    # A batch of one row takes 2.0 + 1.5 + 2.5 + 0.6 ms of the interpreter: 300 a second are too many.
    found = queue_delay(asked, 300.0)
    assert found.flow.rows == pytest.approx(300 * 0.006 / (1 - 300 * 0.0006), rel=0.02)
    # 64 batches share one interpreter, and as many hints wait for one of these threads.
    assert found.p95 > 64 * found.flow.rows / 300


def test_where_nearly_nothing_arrives_a_delivery_waits_for_its_own_steps_only() -> None:
    # Pickup, hint, claim and half of the wave's bookkeeping.
    alone = 0.003 + 0.002 + 0.0028 + 0.007 / 2
    assert queue_delay(system(), 0.001).p95 == pytest.approx(alone)
    assert queue_delay(system(), 0.001).mean == pytest.approx(alone, rel=0.01)


def test_beyond_the_highest_rate_the_backlog_has_no_end_and_the_excess_expires() -> None:
    asked = system()
    found = queue_delay(asked, 4 * highest_rate(asked))
    assert found.saturated
    assert found.p95 == math.inf
    assert found.expired_share == pytest.approx(0.75)


def test_batches_grow_with_the_load_and_hints_do_not() -> None:
    highest = highest_rate(system())
    half, most = (queue_delay(system(), share * highest).flow for share in (0.4, 0.8))
    assert most.rows > 1.9 * half.rows
    assert most.batches < 1.1 * half.batches


def test_a_resource_is_as_busy_as_rate_times_demand() -> None:
    flow = Flow(arrivals=100.0, batches=10.0, waves=1.0)
    busy = utilisation(system(), flow)
    # Ten batches a second, each with a hint, a claim, a wave and ten rows.
    assert busy["worker CPU"] == pytest.approx(10 * (0.002 + 0.0015 + 0.0025 + 10 * 0.0006))
    assert busy["database CPU"] == pytest.approx((10 * (0.0008 + 0.0015 + 10 * 0.0002) + 100 * 0.001) / 2)


def test_submissions_that_are_open_follow_littles_law() -> None:
    assert load(system(), Flow(arrivals=200.0, batches=50.0, waves=1.0)).submissions == pytest.approx(20.0)


def test_the_broker_is_asked_at_each_admission_and_carries_few_hints() -> None:
    asked = load(system(), Flow(arrivals=2000.0, batches=100.0, waves=2.0))
    assert asked.hints == 100.0
    assert asked.broker_commands == 2000 * 6 + 100 * 13


def test_as_many_workers_are_named_as_keep_the_delay_and_one_less_does_not() -> None:
    found = workers_for(system(database_cores=32), 1500.0, 0.5)
    assert found is not None
    enough, short = (queue_delay(system(database_cores=32, workers=n), 1500.0) for n in (found, found - 1))
    assert enough.p95 <= 0.5 < short.p95


def test_no_number_of_workers_is_faster_than_a_free_one() -> None:
    assert workers_for(system(), 10.0, 0.001, most=64) is None


def test_the_database_gets_cores_for_the_rate_with_room_to_spare() -> None:
    asked = system(workers=8)
    cores = database_cores_for(asked, 2000.0)
    busy = utilisation(asked, queue_delay(changed(asked, database_cores=cores), 2000.0).flow)
    assert busy["database CPU"] * asked.database_cores / cores <= 0.75


def test_threads_of_one_process_beyond_the_databases_connections_are_not_counted() -> None:
    by_name = {one.name: one.rate for one in scale_limits(system(concurrency=256))}
    assert by_name["100 database connections"] == saturated_rate(system(concurrency=100))


def test_what_gives_way_first_at_scale_is_at_the_front() -> None:
    rates = [one.rate for one in scale_limits(system())]
    assert rates == sorted(rates)
