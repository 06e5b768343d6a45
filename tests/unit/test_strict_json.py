from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resetdelivery.api.strict_json import MAX_DEPTH, NotStrict, parsed

# Everything JSON has that survives our limits.
_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**18), 10**18) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=12,
)


@given(_VALUES)
def test_ordinary_json_means_what_it_always_meant(value: object) -> None:
    assert parsed(json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "no JSON"),
        (b"{", "no JSON"),
        (b"{} {}", "no JSON"),
        (b"{'a': 1}", "no JSON"),
        (b'{"a": 1,}', "no JSON"),
        (b"\xff\xfe{\x00}\x00", "UTF-8"),
        (b'{"a": "\xe9"}', "UTF-8"),
        (b"\xef\xbb\xbf{}", "no JSON"),
        (b'{"a": 1, "a": 2}', "one name twice"),
        (b'{"a": {"b": 1, "\\u0062": 1}}', "one name twice"),
        (b"NaN", "NaN"),
        (b'{"a": Infinity}', "NaN"),
        (b'{"a": -Infinity}', "NaN"),
        (b"1e999", "too large"),
        (b"-1e999", "too large"),
        (b"1" * 21, "digits"),
        (b"1" * 5000, "digits"),
        (b"0." + b"1" * 5000, "too long"),
        (b'"\\ud800"', "surrogate"),
        (b'{"\\udc00": 1}', "surrogate"),
        (b'"\\u0000"', "NUL"),
        (b'{"\\u0000": 1}', "NUL"),
        (b"[" * 16_000 + b"]" * 16_000, "nested"),
        (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, "nested"),
        (b"[" * (MAX_DEPTH + 1) + b"1" + b"]" * (MAX_DEPTH + 1), "nested"),
    ],
)
def test_json_that_two_readers_could_take_differently_is_refused(raw: bytes, words: str) -> None:
    with pytest.raises(NotStrict, match=words):
        parsed(raw)


def test_a_pair_of_surrogates_is_one_character() -> None:
    assert parsed(b'"\\ud83d\\ude00"') == "\N{GRINNING FACE}"


def test_as_deep_as_allowed_is_allowed() -> None:
    assert parsed(b"[" * MAX_DEPTH + b"1" + b"]" * MAX_DEPTH)


@given(st.binary(max_size=64))
def test_octets_of_any_kind_are_parsed_or_refused(raw: bytes) -> None:
    with suppress(NotStrict):
        json.dumps(parsed(raw))
