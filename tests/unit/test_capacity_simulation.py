from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import pytest

from bench.capacity.lanes import Lanes, Played
from resetdelivery.domain.capacity import Cost, Costs, System, highest_rate, saturated_rate
from resetdelivery.domain.queue_delay import queue_delay
from tests.unit.test_capacity import FREE, system

#: Workers and threads, waves, latencies with their deviations.
SYSTEMS = [
    system(workers=w, concurrency=c, wave=wave, latency=latency, deviation=deviation, database_cores=8)
    for (w, c), wave, (latency, deviation) in itertools.product(
        [(1, 2), (1, 4), (1, 8), (2, 4)], [8, 16], [(0.1, 0.03), (0.4, 0.1)]
    )
]
ALLOWED = 0.15
#: A claim and a wave that cost so much that hints for single rows use up a process's interpreter.
DEAR = Costs(
    hint=Cost(worker=0.0025),
    claim=Cost(worker=0.0025, database=0.0010, waiting=0.0015),
    wave=Cost(worker=0.0035, database=0.0020, waiting=0.0040),
    row=Cost(worker=0.0006, database=0.0002, waiting=0.0001),
    admission=Cost(worker=0.0060, database=0.0020),
    pickup=0.004,
)
#: Workers and threads, latency, deviation, arrivals per second, database cores.
MANY_THREADS = [
    (1, 64, 0.12, 0.0, 80, 2),
    (1, 64, 0.12, 0.0, 90, 2),
    (1, 64, 0.12, 0.0, 150, 2),
    (1, 64, 0.12, 0.03, 150, 2),
    (1, 64, 0.12, 0.03, 250, 2),
    (1, 64, 0.01, 0.0, 200, 2),
    (1, 256, 0.01, 0.0, 300, 3),
    (2, 32, 0.12, 0.0, 300, 3),
    (2, 32, 0.12, 0.03, 200, 2),
    (4, 32, 0.12, 0.0, 800, 6),
    (1, 32, 0.12, 0.03, 200, 2),
    (1, 32, 0.40, 0.1, 150, 2),
    (1, 128, 0.12, 0.03, 250, 2),
    (8, 32, 0.50, 0.125, 700, 5),
]


def named(value: Any) -> str:
    if not isinstance(value, System):
        return str(value)
    return f"{value.workers}x{value.concurrency} wave {value.wave} {value.latency:g}s"


def played(asked: System, rate: float, number: int = 4000) -> Played:
    return Lanes(asked, seed=2).arrivals(rate, number)


@pytest.mark.parametrize("asked", SYSTEMS, ids=named)
def test_the_formula_delivers_as_many_as_the_simulation(asked: System) -> None:
    simulated = Lanes(asked, seed=1).backlog(int(saturated_rate(asked) * 12)).rate()
    assert saturated_rate(asked) == pytest.approx(simulated, rel=ALLOWED)


@pytest.mark.parametrize("share", [0.4, 0.5, 0.6])
@pytest.mark.parametrize("asked", SYSTEMS, ids=named)
def test_the_formulas_delay_is_the_simulations_for_95_of_100(asked: System, share: float) -> None:
    rate = share * highest_rate(asked)
    assert queue_delay(asked, rate).p95 == pytest.approx(played(asked, rate).quantile(0.95), rel=ALLOWED)


@pytest.mark.parametrize(
    ("workers", "concurrency", "latency", "deviation", "rate", "cores"),
    MANY_THREADS,
    ids=lambda value: f"{value:g}",
)
def test_the_formulas_delay_is_the_simulations_also_where_threads_wait_for_their_interpreter(
    workers: int, concurrency: int, latency: float, deviation: float, rate: float, cores: int
) -> None:
    of = {"workers": workers, "concurrency": concurrency, "database_cores": cores, "costs": DEAR}
    asked = system(latency=latency, deviation=deviation, **of)
    simulated = played(asked, rate, number=8000).quantile(0.95)
    assert queue_delay(asked, rate).p95 == pytest.approx(simulated, rel=ALLOWED)


def test_the_simulation_delivers_everything_once() -> None:
    run = played(SYSTEMS[0], 20.0, number=500)
    assert (len(run.delays), len(run.settled), run.expired) == (500, 500, 0)


def test_a_simulated_delivery_that_finds_a_free_thread_waits_for_its_steps_only() -> None:
    run = played(system(costs=FREE, concurrency=8), 0.5, number=200)
    assert run.quantile(0.5) == 0.0


def test_at_four_times_the_highest_rate_three_of_four_simulated_resets_expire() -> None:
    asked = system(workers=1, concurrency=1, wave=8, useful_life=3.0)
    rate = 4 * saturated_rate(asked)
    run = played(asked, rate, number=int(rate * 43))
    # What is left of the first three seconds and of the last ones is served.
    assert run.expired / (rate * 40) == pytest.approx(queue_delay(asked, rate).expired_share, rel=0.1)


def test_the_same_seed_plays_the_same_run() -> None:
    assert played(SYSTEMS[1], 50.0, number=300).delays == played(SYSTEMS[1], 50.0, number=300).delays


def test_one_interpreter_is_used_by_one_thread_at_a_time() -> None:
    costs = dataclasses.replace(FREE, row=Cost(worker=0.002))
    run = Lanes(system(costs=costs, latency=0.0), seed=1).backlog(2000)
    assert run.rate() == pytest.approx(500.0, rel=0.02)
