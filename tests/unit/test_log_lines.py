from __future__ import annotations

import datetime as dt
import uuid

import pytest

from resetdelivery.log_lines import as_json, in_order, stamped, timestamp


def test_a_time_is_told_to_the_millisecond() -> None:
    at = dt.datetime(2026, 1, 5, 9, 30, 0, 123456, tzinfo=dt.UTC)
    assert timestamp(at) == "2026-01-05T09:30:00.123Z"
    assert timestamp(at.replace(microsecond=0)) == "2026-01-05T09:30:00.000Z"


def test_a_line_is_stamped_with_the_time_of_now() -> None:
    before = timestamp(dt.datetime.now(dt.UTC))
    stamp = stamped(None, "info", {})["timestamp"]
    assert before <= stamp <= timestamp(dt.datetime.now(dt.UTC))


def test_time_level_and_event_come_first_and_the_rest_keeps_its_order() -> None:
    line = {"b": 1, "event": "any", "a": 2, "level": "info", "timestamp": "now"}
    assert list(in_order(None, "info", line)) == ["timestamp", "level", "event", "b", "a"]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("a b", '"a b"'),
        (1.5, "1.5"),
        (True, "true"),
        ("\n\u2028", '"\\n\\u2028"'),
        (uuid.UUID(int=1), '"<UUID>"'),
    ],
)
def test_a_line_is_json_in_one_row_without_spaces(value: object, written: str) -> None:
    assert as_json(None, "info", {"event": "any", "value": value}) == f'{{"event":"any","value":{written}}}'
