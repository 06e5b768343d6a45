from __future__ import annotations

import random

import pytest

from bench.rank_test import rank_test

MEN, WOMEN = [19, 22, 16, 29, 24], [20, 11, 17, 12]


def test_a_published_example_comes_out_as_published() -> None:
    """Ages at diagnosis of diabetes, an example of the scipy manual: U = 17, asymptotic p = 0.11134688653."""
    found = rank_test(MEN, WOMEN)
    assert found.u == 17
    assert found.p == pytest.approx(0.11134688653314041, abs=1e-12)
    assert found.effect == pytest.approx(0.7)


def test_the_other_way_round_the_effect_changes_sign_and_p_does_not() -> None:
    one, other = rank_test(MEN, WOMEN), rank_test(WOMEN, MEN)
    assert other.u == 3
    assert other.effect == pytest.approx(-one.effect)
    assert other.p == pytest.approx(one.p)


def test_ties_count_by_half_and_narrow_the_spread() -> None:
    """By hand: ranks 1, 3 3 3, 5.5 5.5, 7.5 7.5; U = 2.5; groups of 3, 2 and 2: 24 + 6 + 6 = 36.

    The variance is 16/12 · (9 - 36/56) = 11.142857, and z = (8 - 2.5 - 0.5) / 3.338092 = 1.497862.
    """
    found = rank_test([1, 2, 2, 3], [2, 3, 4, 4])
    assert found.u == 2.5
    assert found.p == pytest.approx(0.13416937, abs=1e-6)
    assert found.effect == pytest.approx(2 * 2.5 / 16 - 1)


@pytest.mark.parametrize(("first", "second", "effect"), [([3, 4], [1, 2], 1), ([1, 2], [3, 4], -1)])
def test_samples_that_do_not_overlap_have_the_largest_effect(
    first: list[float], second: list[float], effect: float
) -> None:
    assert rank_test(first, second).effect == effect


def test_equal_samples_differ_in_nothing() -> None:
    found = rank_test([5, 5, 5], [5, 5])
    assert (found.p, found.effect) == (1.0, 0.0)


def test_a_small_shift_shows_in_many_values_and_noise_does_not() -> None:
    draw = random.Random(1)
    first, second = ([draw.gauss(10, 1) for _ in range(1000)] for _ in range(2))
    assert rank_test(first, second).p > 0.05
    shifted = rank_test([value + 0.3 for value in first], second)
    assert (shifted.p < 0.001, shifted.effect > 0.1) == (True, True)


@pytest.mark.parametrize(("first", "second"), [([], [1.0]), ([1.0], []), ([], [])])
def test_nothing_cannot_be_compared(first: list[float], second: list[float]) -> None:
    with pytest.raises(ValueError, match="at least one value"):
        rank_test(first, second)
