from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from resetdelivery.decision_rule.capacity import CapacityAnswer, capacity_lines
from resetdelivery.domain.capacity import USUAL_COSTS, Cost
from resetdelivery.domain.quantities import UnreadableQuantity


def asked(**values: Any) -> CapacityAnswer:
    usual: dict[str, Any] = {"arrivals": "60/s", "latency": "300ms", "workers": 2}
    return capacity_lines(**{**usual, **values})


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
@pytest.mark.parametrize("latency", ["0ms", "120ms", "30s"])
def test_every_question_is_answered(arrivals: str, latency: str) -> None:
    assert len(asked(arrivals=arrivals, latency=latency, spread="10ms").lines) > 10


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


def test_a_step_that_gives_time_back_is_no_cost(tmp_path: Path) -> None:
    file = tmp_path / "costs.json"
    costs = dataclasses.replace(USUAL_COSTS, wave=Cost(worker=-0.001))
    file.write_text(json.dumps(dataclasses.asdict(costs)))
    with pytest.raises(UnreadableQuantity, match="cannot be read"):
        asked(costs=str(file))
