from __future__ import annotations

import pytest

from bench.capacity.__main__ import LINEUPS, steady_rate_of
from bench.capacity.__main__ import compared as compared_with
from bench.capacity.calibration import by_role, costs_from, per_row
from bench.capacity.comparison import Compared, costs_table, source, table, verdict
from bench.capacity.measured import Delivered, quantile, steady_rate
from bench.capacity.stage import Lineup
from resetdelivery.domain import capacity
from resetdelivery.domain.capacity import USUAL_COSTS


def compared(predicted: float, *measured: float) -> Compared:
    return Compared(configuration="1 x 2", name="deliveries/s", predicted=predicted, measured=measured)


@pytest.mark.parametrize(
    ("one", "within"),
    [
        (compared(114.9, 100.0), True),
        (compared(115.1, 100.0), False),
        (compared(84.9, 100.0), False),
        # Runs that differ by 40 per cent say no more than that.
        (compared(130.0, 80.0, 100.0, 120.0), True),
        (compared(141.0, 80.0, 100.0, 120.0), False),
    ],
)
def test_a_prediction_is_near_enough_within_15_per_cent_or_the_spread_of_the_runs(
    one: Compared, within: bool
) -> None:
    assert one.is_within is within


def test_what_is_outside_is_said_in_the_table_and_below_it() -> None:
    text = table([compared(100.0, 100.0), compared(200.0, 100.0)])
    assert text.count("**outside**") == 1
    assert text.endswith("outside: 1 x 2: deliveries/s.")


def test_what_could_not_be_measured_is_said_in_the_table_and_below_it() -> None:
    text = table([compared(100.0, 100.0), compared(200.0)])
    assert "| 1 x 2 | deliveries/s | 200 | **not measured**: arrivals came late | | | |" in text
    assert text.endswith(
        "1 of 2 within 15%, or the spread of the runs where that is larger; "
        "not measured, for arrivals came late: 1 x 2: deliveries/s."
    )


def test_a_run_whose_arrivals_came_late_is_not_counted_and_its_delay_is_still_a_row() -> None:
    lineup = LINEUPS[0]
    in_time, late = steady(behind=0.1), steady(behind=0.5)
    backlog = Delivered(marked=[0.0], accepted=[n / 10 for n in range(100)], due=[0.0])
    cases: list[tuple[list[tuple[Delivered, Delivered | None]], int]] = [
        ([(backlog, in_time), (backlog, late)], 1),
        ([(backlog, late)], 0),
    ]
    for runs, number in cases:
        rate, delay = compared_with({lineup: runs}, USUAL_COSTS)
        assert (len(rate.measured), len(delay.measured)) == (len(runs), number)


def steady(behind: float) -> Delivered:
    return Delivered(marked=[0.2] * 20, accepted=[0.5] * 20, due=[0.0] * 20, behind=behind)


def test_delays_are_measured_at_no_more_than_one_process_admits_and_not_where_answers_come_at_once() -> None:
    slow, quick = (Lineup(workers=1, concurrency=4, wave=16, latency=one) for one in (0.4, 0.005))
    assert [steady_rate_of(slow, highest) for highest in (50.0, 500.0)] == [30.0, 40.0]
    assert steady_rate_of(quick, 50.0) is None


def test_measured_costs_are_written_as_the_source_that_takes_them() -> None:
    names: dict[str, object] = {}
    exec(source(USUAL_COSTS), vars(capacity).copy(), names)
    assert names == {"USUAL_COSTS": USUAL_COSTS}


def test_what_the_steps_cost_is_a_table_in_milliseconds() -> None:
    lines = costs_table(USUAL_COSTS).splitlines()
    wave = USUAL_COSTS.wave
    numbers = [f"{1000 * one:.2f}" for one in (wave.worker, wave.database, wave.waiting)]
    assert f"| wave | {' | '.join(numbers)} |" in lines


def test_where_nothing_is_outside_nothing_is_said_of_it() -> None:
    assert "outside" not in verdict([compared(100.0, 100.0)])


def test_events_that_come_in_groups_have_the_rate_of_the_line_through_them() -> None:
    groups = [float(group) for group in range(100) for _ in range(16)]
    assert steady_rate(groups) == pytest.approx(16.0, rel=0.01)


def test_the_first_ones_do_not_count_for_a_quantile() -> None:
    assert quantile([100.0, *([1.0] * 18), 3.0], 0.5) == 1.0
    assert quantile([100.0, *([1.0] * 18), 3.0], 0.999) == 3.0


def run(seconds: float, number: int, **cpu: float) -> Delivered:
    return Delivered(marked=[0.0] * number, accepted=[seconds] * number, due=[0.0] * number, cpu=cpu)


def test_processor_time_goes_to_workers_database_and_what_surrounds_them() -> None:
    roles = by_role(
        {"worker1": 1.0, "worker2": 2.0, "postgresql": 4.0, "redis": 8.0, "sink": 16.0, "admission": 32.0}
    )
    assert roles == {"worker": 3.0, "database": 4.0, "admission": 32.0, "surroundings": 24.0}


def test_three_runs_in_batches_of_three_shapes_give_back_what_each_step_costs() -> None:
    claim, wave, row = 0.003, 0.002, 0.001
    shapes = [(1 / 50, 4 / 50), (1 / 50, 1.0), (1.0, 1.0)]
    runs = [
        per_row(run(500 * each, 500, worker1=500 * each), claims=claims, waves=waves)
        for claims, waves in shapes
        for each in [claims * claim + waves * wave + row]
    ]
    light = Delivered(
        marked=[0.02] * 50,
        accepted=[0.1] * 50,
        due=[0.0] * 50,
        cpu={"worker1": 50 * 0.008, "postgresql": 0.5, "admission": 0.3},
    )
    full, narrow, single = runs
    found = costs_from(full, narrow, single, light)
    assert found.claim.worker == pytest.approx(claim)
    assert found.wave.worker == pytest.approx(wave)
    assert found.row.worker == pytest.approx(row)
    assert found.row.waiting == pytest.approx(0.0, abs=1e-9)
    # What is left of 8 ms, and of the time until the mark.
    assert found.hint.worker == pytest.approx(0.002)
    assert found.pickup == pytest.approx(0.02 - 0.002 - claim - wave / 2)
    assert found.admission.worker == pytest.approx(0.006)
    assert found.admission.database == pytest.approx(0.01)
