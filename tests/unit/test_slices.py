"""Which accounts a slice holds: the same ones for ever, as many as it says, and more when it grows."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resetdelivery.domain.idempotency import PseudonymKey, keyed_digest
from resetdelivery.domain.slices import in_slice, slice_of

SECRET = b"a pseudonym key for tests"


@pytest.mark.parametrize(
    ("secret", "account_ref", "number"),
    [
        (SECRET, "1", 319),
        (SECRET, "2", 760),
        (SECRET, "42", 881),
        (SECRET, "4711", 720),
        (SECRET, "anna", 637),
        (SECRET, "~3f", 17),
        (SECRET, "6f0c5c1e-8f0e-4a39-9a5e-6a4b5e2f1c11", 105),
        (SECRET, "é", 588),
        (b"another key", "1", 380),
        (b"another key", "anna", 553),
        (b"another key", "~3f", 154),
    ],
)
def test_a_number_is_what_it_was_when_the_first_slice_began(
    secret: bytes, account_ref: str, number: int
) -> None:
    """Another one would move accounts between senders that nobody meant to move."""
    assert slice_of(secret, account_ref) == number


@given(st.binary(max_size=64), st.text(max_size=255))
def test_every_account_has_one_number_of_a_thousand(secret: bytes, account_ref: str) -> None:
    number = slice_of(secret, account_ref)
    assert number in range(1000)
    assert slice_of(secret, account_ref) == number


@given(st.integers(0, 999), st.integers(0, 1000), st.integers(0, 1000))
def test_a_larger_slice_holds_whatever_a_smaller_one_holds(number: int, one: int, other: int) -> None:
    smaller, larger = sorted((one, other))
    assert in_slice(number, larger) >= in_slice(number, smaller)


@pytest.mark.parametrize(
    ("number", "per_mille", "held"),
    [(0, 0, False), (0, 1, True), (1, 1, False), (49, 50, True), (50, 50, False), (999, 1000, True)],
)
def test_a_slice_holds_the_numbers_below_its_size(number: int, per_mille: int, held: bool) -> None:
    assert in_slice(number, per_mille) is held


@pytest.mark.parametrize("name", ["{}", "user-{:08d}", "00000000-0000-4000-8000-{:012x}"])
def test_accounts_are_spread_evenly_whatever_their_references_look_like(name: str) -> None:
    """Chi-square over 20 parts with 19 degrees of freedom: 43.8 is passed once in a thousand times."""
    numbers = Counter(slice_of(SECRET, name.format(n)) // 50 for n in range(20_000))
    expected = 20_000 / 20
    assert sum((numbers[part] - expected) ** 2 / expected for part in range(20)) < 43.8


def test_a_number_has_nothing_to_do_with_the_accounts_other_digests() -> None:
    key = PseudonymKey(id="t1", secret=SECRET)
    for purpose in ("account", "account lock", "account limit", "decoy"):
        same = [slice_of(SECRET, str(n)) == _number(key, purpose, n) for n in range(300)]
        assert sum(same) < 10


def _number(key: PseudonymKey, purpose: str, n: int) -> int:
    return int(keyed_digest(key, purpose, str(n)).value, 16) % 1000
