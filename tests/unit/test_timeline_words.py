from __future__ import annotations

import datetime as dt

import pytest

from notifications.outcome import Reason
from resetdelivery.domain.reasons import CancelReason, DeliveryReason, SuppressReason
from resetdelivery.timeline.answers import lasting
from resetdelivery.timeline.words import WORDS, in_words, spelled

#: Codes that end nothing: the empty ones, and "ok".
ENDS_NOTHING = {"", Reason.OK}
CODES = sorted(
    {code.value for kind in (DeliveryReason, CancelReason, SuppressReason, Reason) for code in kind}
    - ENDS_NOTHING
)


@pytest.mark.parametrize("code", CODES)
def test_each_code_that_can_end_a_delivery_has_words_and_stands_behind_them_in_brackets(code: str) -> None:
    words = in_words(code)
    assert words.endswith(f" ({code})")
    assert words.removesuffix(f" ({code})") == WORDS[code]
    assert WORDS[code] != spelled(code)


def test_no_two_codes_have_the_same_words() -> None:
    assert len(set(WORDS.values())) == len(WORDS)


def test_nothing_has_words_that_is_no_code() -> None:
    assert sorted(WORDS) == CODES


def test_a_code_of_a_newer_release_is_told_as_it_is() -> None:
    assert in_words("eaten_by_a_dog") == "eaten by a dog (eaten_by_a_dog)"


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (dt.timedelta(days=7), "7 days"),
        (dt.timedelta(days=1), "1 day"),
        (dt.timedelta(hours=36), "36 hours"),
        (dt.timedelta(hours=1), "1 hour"),
        (dt.timedelta(minutes=90), "90 minutes"),
        (dt.timedelta(seconds=61), "61 seconds"),
        (dt.timedelta(seconds=1.5), "1.5 seconds"),
        (dt.timedelta(0), "0.0 seconds"),
    ],
)
def test_a_duration_is_told_in_its_largest_whole_unit(span: dt.timedelta, words: str) -> None:
    assert lasting(span) == words
