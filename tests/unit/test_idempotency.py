from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resetdelivery.domain.idempotency import (
    PseudonymKey,
    digest_matches,
    keyed_digest,
    lock_number,
    request_text,
)

OLD = PseudonymKey(id="2025", secret=b"the old key")
NEW = PseudonymKey(id="2026", secret=b"the new key")

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
inputs = st.tuples(texts, st.lists(texts, max_size=4))


@given(one=inputs, other=inputs)
def test_no_two_inputs_give_one_digest(one: tuple[str, list[str]], other: tuple[str, list[str]]) -> None:
    same = keyed_digest(NEW, one[0], *one[1]) == keyed_digest(NEW, other[0], *other[1])
    assert same is (one == other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("key", "ab", "c"), ("key", "a", "bc")),  # the same letters, cut elsewhere
        (("key", "ab"), ("key", "a", "b")),
        (("keya", "b"), ("key", "ab")),
        (("key", "a", ""), ("key", "a")),
        (("key", "\x00\x00\x00\x01a"), ("key", "", "a")),  # a part that looks like a prefix
    ],
)
def test_parts_that_only_join_to_the_same_text_differ(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert keyed_digest(NEW, *one) != keyed_digest(NEW, *other)


def test_another_key_makes_another_digest() -> None:
    assert keyed_digest(OLD, "account", "7").value != keyed_digest(NEW, "account", "7").value


@pytest.mark.parametrize(
    ("made_by", "configured", "found"),
    [
        (NEW, [NEW], True),
        (OLD, [NEW, OLD], True),  # rotated, the old key kept
        (OLD, [NEW], False),  # rotated, the old key gone
        (NEW, [], False),
    ],
)
def test_a_digest_is_recognised_as_long_as_its_key_is_configured(
    made_by: PseudonymKey, configured: list[PseudonymKey], found: bool
) -> None:
    stored = str(keyed_digest(made_by, "account", "7"))
    assert digest_matches(stored, configured, "account", "7") is found


@pytest.mark.parametrize("stored", ["", ":", "2026", "2026:", "2026:zz", "2026:" + "0" * 64])
def test_what_is_no_digest_of_the_parts_matches_nothing(stored: str) -> None:
    assert digest_matches(stored, [NEW, OLD], "account", "7") is False


def test_a_digest_of_other_parts_does_not_match() -> None:
    assert not digest_matches(str(keyed_digest(NEW, "account", "7")), [NEW], "account", "8")


def test_a_secret_is_not_in_the_repr_of_its_key() -> None:
    assert "the new key" not in repr(NEW)


def test_the_order_of_a_requests_fields_makes_no_difference() -> None:
    one = request_text({"lifetime": 60.0, "channels": ["email"]})
    assert one == request_text({"channels": ["email"], "lifetime": 60.0})


def test_the_order_of_its_channels_does() -> None:
    assert request_text({"channels": ["email", "sms"]}) != request_text({"channels": ["sms", "email"]})


@given(moment=st.datetimes(timezones=st.just(dt.UTC)))
def test_a_lock_number_fits_postgresqls_bigint(moment: dt.datetime) -> None:
    number = lock_number(keyed_digest(NEW, "lock", moment.isoformat()).value)
    assert -(2**63) <= number < 2**63
