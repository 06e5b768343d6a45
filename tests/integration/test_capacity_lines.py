from __future__ import annotations

import dataclasses
import datetime as dt
import json
import re
from pathlib import Path
from typing import Any

import pytest

from resetdelivery.decision_rule.capacity import CapacityAnswer, UnplannableQuestion, capacity_lines
from resetdelivery.domain.capacity import USUAL_COSTS, USUAL_ORIGIN, Cost
from resetdelivery.domain.quantities import UnreadableQuantity


def asked(**values: Any) -> CapacityAnswer:
    usual: dict[str, Any] = {"arrivals": "60/s", "latency": "300ms", "workers": 2}
    return capacity_lines(**{**usual, **values})


def with_channel(settings: Any, **values: Any) -> dict[str, Any]:
    """RESETDELIVERY with some options of email changed."""
    usual = settings.RESETDELIVERY
    channels = {**usual["CHANNELS"], "email": {**usual["CHANNELS"]["email"], **values}}
    return {**usual, "CHANNELS": channels}


def test_workers_that_suffice_are_said_to() -> None:
    answer = asked()
    assert answer.holds
    assert any("for 95 of 100" in line for line in answer.lines)


def test_workers_that_do_not_suffice_are_said_not_to_with_what_expires_and_how_many_would() -> None:
    answer = asked(arrivals="6000/s")
    text = "\n".join(answer.lines)
    assert not answer.holds
    assert "of all expire" in text
    assert "Workers that keep to it: " in text


@pytest.mark.parametrize("arrivals", ["1/h", "2000/s", "100000/s"])
@pytest.mark.parametrize("latency", ["0ms", "120ms", "14s"])
def test_every_question_is_answered(arrivals: str, latency: str) -> None:
    assert len(asked(arrivals=arrivals, latency=latency, spread="10ms").lines) > 10


@pytest.mark.parametrize("concurrency", [8, 256])
def test_thousands_of_workers_are_planned_for(concurrency: int) -> None:
    assert asked(arrivals="2000/s", latency="10s", workers=4096, concurrency=concurrency).holds


def test_threads_that_one_process_cannot_serve_are_no_delay_of_milliseconds(tmp_path: Path) -> None:
    file = tmp_path / "costs.json"
    costs = dataclasses.replace(USUAL_COSTS, wave=Cost(worker=0.006, database=0.002, waiting=0.004))
    file.write_text(json.dumps(dataclasses.asdict(costs)))
    answer = asked(arrivals="200/s", latency="10ms", workers=1, concurrency=256, costs=str(file))
    assert not answer.holds
    assert any("too many threads for each process" in line for line in answer.lines)


@pytest.mark.parametrize("arrivals", ["20/s", "60/s", "90/s", "120/s", "150/s", "300/s"])
@pytest.mark.parametrize("concurrency", [1, 8, 64, 256])
def test_no_resource_is_busier_than_it_can_be_in_an_answer_that_holds(
    arrivals: str, concurrency: int
) -> None:
    answer = asked(arrivals=arrivals, latency="120ms", workers=1, concurrency=concurrency)
    if answer.holds:
        busy = [int(found) for line in answer.lines for found in re.findall(r"CPU +(\d+)%", line)]
        assert len(busy) == 2
        assert max(busy) <= 100


def test_a_provider_that_answers_after_the_budget_of_an_attempt_is_refused() -> None:
    with pytest.raises(UnplannableQuestion, match=r"given up after 15 s \(SEND_BUDGET\)"):
        asked(latency="15s")
    assert asked(latency="14s", arrivals="1/s", workers=16).holds


def test_answers_that_scatter_up_to_the_budget_are_warned_of() -> None:
    said = "Warning: answers scatter up to SEND_BUDGET"
    assert any(line.startswith(said) for line in asked(latency="9s", spread="3s").lines)
    assert not any(line.startswith(said) for line in asked(latency="9s", spread="2s").lines)


def test_resets_expire_in_the_backlog_after_the_life_that_the_channel_admits(settings: Any) -> None:
    settings.RESETDELIVERY = with_channel(settings, MAX_LIFETIME=dt.timedelta(minutes=5))
    assert "after 4.92 min" in "\n".join(asked(arrivals="6000/s").lines)


def test_more_workers_than_anybody_runs_are_not_no_number_of_workers() -> None:
    text = "\n".join(asked(arrivals="999999/s", latency="14s", concurrency=1).lines)
    assert "Workers that keep to it: more than 4096." in text


def test_what_a_free_worker_cannot_do_no_number_of_them_can(settings: Any) -> None:
    settings.RESETDELIVERY = with_channel(settings, EXPECTED_QUEUE_DELAY=dt.timedelta(milliseconds=1))
    assert "No number of such workers keeps to it" in "\n".join(asked().lines)


def test_costs_that_come_with_the_package_are_said_to_be_what_they_are() -> None:
    assert f"Costs: {USUAL_ORIGIN}." in asked().lines


def test_what_gives_way_first_is_named_with_what_then() -> None:
    assert asked(arrivals="2000/s", latency="120ms", workers=16).lines[-1].startswith("First to give way: ")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"arrivals": "60"}, "write a rate"),
        ({"latency": "300"}, "write a time"),
        ({"workers": 0}, "--workers is 0: write a number from 1 to 4096"),
        ({"concurrency": 0}, "--concurrency is 0"),
        ({"concurrency": 257}, "--concurrency is 257"),
        ({"wave": -1}, "--wave is -1"),
        ({"costs": "/nowhere/costs.json"}, "The costs cannot be read"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_to_write(values: dict[str, Any], said: str) -> None:
    with pytest.raises(UnreadableQuantity, match=said):
        asked(**values)


def test_costs_that_were_measured_elsewhere_are_read_from_their_file(tmp_path: Path) -> None:
    file = tmp_path / "costs.json"
    file.write_text(json.dumps(dataclasses.asdict(USUAL_COSTS)))
    assert list(asked(costs=str(file)).lines)[3:] == list(asked().lines)[3:]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"hint": 3}'])
def test_a_file_that_holds_no_costs_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "costs.json"
    file.write_text(text)
    with pytest.raises(UnreadableQuantity, match=r"bench\.capacity"):
        asked(costs=str(file))


@pytest.mark.parametrize(
    "changes",
    [
        {"wave": Cost(worker=-0.001)},
        {"pickup": float("nan")},
        {"surroundings": float("inf")},
        {"row": Cost(worker=float("nan"))},
        {"claim": Cost(worker=1.0), "wave": Cost(), "row": Cost()},
        {"claim": Cost(database=1.0), "wave": Cost(), "row": Cost()},
    ],
    ids=["less than nothing", "nan", "inf", "nan in a step", "no database", "no worker"],
)
def test_what_is_no_cost_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    file = tmp_path / "costs.json"
    file.write_text(json.dumps(dataclasses.asdict(dataclasses.replace(USUAL_COSTS, **changes))))
    with pytest.raises(UnreadableQuantity, match=r"cannot be read.*more than 0 of worker and database"):
        asked(costs=str(file))
