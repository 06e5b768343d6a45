from __future__ import annotations

import pytest

from bench.capacity.calibration import by_role, costs_from, per_row
from bench.capacity.comparison import Compared, costs_table, table, verdict
from bench.capacity.measured import Delivered, quantile, steady_rate
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
