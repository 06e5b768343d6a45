from __future__ import annotations

import json
import random
import uuid
from dataclasses import replace
from typing import Any

import pytest

from resetdelivery.log_schema import Event, Field
from resetdelivery.telemetry.budget.lines import encoded, event_costs
from resetdelivery.telemetry.budget.samples import varied

WORD = Field(name="outcome", type=str, worst="misconfigured", typical="accepted")
SECONDS = Field(name="seconds", type=float, worst=86_399.999, typical=0.412)
REFERENCE = Field(
    name="intent", type=str, worst=str(uuid.UUID(int=1)), typical="8c2f6c9e-6a3c-4f0e-8a1d-0a8f1f2f4d5e"
)
EVENT = Event(name="tried", fields=(WORD, SECONDS, REFERENCE), per_reset=1.5)


def many(field: Field, number: int = 300) -> list[Any]:
    chance = random.Random(1)
    return [varied(field, chance) for _ in range(number)]


def cost(event: Event, lines_per_day: float = 50_000) -> Any:
    return event_costs([event], lines_per_day=lines_per_day)[0]


def test_identifiers_are_new_in_each_line_and_of_the_same_length() -> None:
    found = many(REFERENCE)
    assert len(set(found)) == len(found)
    assert {len(one) for one in found} == {36}


def test_shorter_identifiers_without_dashes_keep_their_length() -> None:
    found = many(replace(REFERENCE, typical="00ab34cd56ef7890"))
    assert len(set(found)) == len(found)
    assert {len(one) for one in found} == {16}


def test_words_are_mostly_the_typical_one() -> None:
    found = many(WORD)
    assert set(found) == {"accepted", "misconfigured"}
    assert found.count("accepted") > found.count("misconfigured") * 3


def test_durations_vary_and_keep_their_precision() -> None:
    found = many(SECONDS)
    assert len(set(found)) > 100
    assert all(one == round(one, 3) and one > 0 for one in found)


def test_two_runs_measure_the_same() -> None:
    assert cost(EVENT) == cost(EVENT)


def test_the_examples_are_measured_to_the_octet() -> None:
    fewer = replace(EVENT, fields=(WORD,))
    assert cost(fewer).worst_bytes - cost(fewer).typical_bytes == len("misconfigured") - len("accepted")


def test_a_line_is_json_with_an_end() -> None:
    line = encoded({"event": "tried", "outcome": "accepted"})
    assert json.loads(line) == {"event": "tried", "outcome": "accepted"}
    assert line.endswith(b"}\n")


def test_a_field_costs_exactly_what_a_line_is_shorter_without_it() -> None:
    whole, without = cost(EVENT), cost(replace(EVENT, fields=(SECONDS, REFERENCE)))
    of_word = next(field for field in whole.fields if field.name == "outcome")
    assert of_word.raw_bytes == pytest.approx(whole.mean_bytes - without.mean_bytes, abs=0.5)
    # Its name, and eight octets of a value in quotes, with separators.
    assert of_word.raw_bytes > len('"outcome":"accepted",')


def test_a_compressed_reference_costs_what_is_random_in_it_and_a_word_next_to_nothing() -> None:
    by_name = {field.name: field.batch_bytes for field in cost(EVENT).fields}
    assert by_name["intent"] > 122 / 8
    assert by_name["outcome"] < 4


def test_names_are_a_share_of_the_line_that_each_repeats() -> None:
    one = cost(EVENT)
    names = [field.name for field in one.fields]
    assert one.names_bytes == sum(len(name) + len('"":,') for name in names)


def test_lines_far_apart_in_time_compress_no_better_than_close_ones() -> None:
    assert cost(EVENT, 10).batch_bytes >= cost(EVENT, 10_000_000).batch_bytes


def test_the_event_that_holds_most_comes_first() -> None:
    rare = replace(EVENT, name="rare", per_reset=0.001)
    assert [one.name for one in event_costs([rare, EVENT], lines_per_day=100)] == ["tried", "rare"]
