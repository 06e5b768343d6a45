"""The typographic fallback: what it replaces, and when."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notifications.sms.gsm7 import septets
from notifications.sms.segmentation import Encoding, segment
from notifications.sms.typography import PLAIN, plain, plain_if_gsm7

AROUND_THE_TABLE = "".join(PLAIN) + "e\u0301\u1fef\u037eš中 '\"-\n"


@pytest.mark.parametrize(
    ("written", "replaced"),
    [
        ("It\u2019s \u201chere\u201d", 'It\'s "here"'),
        ("\u201eHier\u201c, \u00abici\u00bb, \u2039l\u00e0\u203a", '"Hier", "ici", \'là\''),
        ("now \u2013 or \u2014 never", "now - or - never"),
        ("wait\u2026", "wait..."),
        ("30\u00a0minutes, 10:30\u202fPM", "30 minutes, 10:30 PM"),
        ("re\u00adset\u200b now\ufeff", "reset now"),
        ("one\u2028two", "one\ntwo"),
        ("e\u200b\u0301", "é"),
        ("\u1fef", "'"),  # NFC makes a backtick of it
    ],
)
def test_typographic_characters_become_plain_ones(written: str, replaced: str) -> None:
    assert plain(written) == replaced
    assert plain_if_gsm7(written) == replaced
    assert segment(replaced).encoding is Encoding.GSM7


@pytest.mark.parametrize("char", PLAIN)
def test_each_replacement_is_in_the_alphabet_and_its_character_is_not(char: str) -> None:
    assert septets(char) is None
    assert all(septets(one) for one in PLAIN[char])


@pytest.mark.parametrize("char", PLAIN)
def test_no_letter_mark_or_digit_is_replaced(char: str) -> None:
    assert unicodedata.category(char)[0] in "PSZC"


@pytest.mark.parametrize(
    "text", ["za\u017c\u00f3\u0142\u0107", "\u015fifre", "\u0440\u0443\u0441", "m\u1eadt kh\u1ea9u"]
)
def test_letters_are_never_stripped(text: str) -> None:
    assert plain(text) == text


@pytest.mark.parametrize("text", ["has\u0142o \u2013 nowe\u2026", "\u201cパスワード\u201d", "می\u200cشود"])
def test_a_text_that_stays_ucs2_keeps_its_typography(text: str) -> None:
    assert plain_if_gsm7(text) == text


def test_plain_text_is_left_alone() -> None:
    text = "Reset your password:\nhttps://shop.example/r/a_b-c~1/\n5€ [ok]"
    assert plain(text) == text


@given(st.text(alphabet=AROUND_THE_TABLE, max_size=60))
def test_the_fallback_leaves_nothing_for_a_second_one(text: str) -> None:
    assert plain(plain(text)) == plain(text)
    assert not set(plain(text)) & PLAIN.keys()
