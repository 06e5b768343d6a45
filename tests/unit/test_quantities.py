from __future__ import annotations

import pytest

from resetdelivery.domain.quantities import UnreadableQuantity, per_second, seconds
from resetdelivery.exceptions import ResetDeliveryError


@pytest.mark.parametrize(
    ("text", "rate"),
    [("2000/s", 2000.0), ("120/min", 2.0), ("90/h", 0.025), (" 1.5 / s ", 1.5)],
)
def test_a_rate_is_read_as_it_is_typed(text: str, rate: float) -> None:
    assert per_second(text) == pytest.approx(rate)


@pytest.mark.parametrize(("text", "value"), [("120ms", 0.12), ("1.5s", 1.5), ("2min", 120.0), ("0ms", 0.0)])
def test_a_time_is_read_as_it_is_typed(text: str, value: float) -> None:
    assert seconds(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "2000", "/s", "2,000/s", "-1/s", "1e3/s", "2000s", "nan/s", "٢/s"])
def test_what_is_no_rate_is_refused_with_one_that_is(text: str) -> None:
    with pytest.raises(UnreadableQuantity, match=r"write a rate such as 2000/s"):
        per_second(text)


def test_a_rate_of_nothing_is_refused() -> None:
    with pytest.raises(UnreadableQuantity, match="write more than 0"):
        per_second("0/s")


@pytest.mark.parametrize("text", ["", "120", "ms", "120 hours", "1/s", "-5ms"])
def test_what_is_no_time_is_refused_with_one_that_is(text: str) -> None:
    with pytest.raises(UnreadableQuantity, match=r"write a time such as 120ms"):
        seconds(text)


def test_an_unknown_unit_is_named_as_such() -> None:
    with pytest.raises(UnreadableQuantity, match="unit that is not known"):
        per_second("5/day")


def test_what_cannot_be_read_is_a_callers_mistake() -> None:
    assert issubclass(UnreadableQuantity, ResetDeliveryError)
