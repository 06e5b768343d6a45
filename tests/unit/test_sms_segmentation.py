"""Segments: the given vectors, a second implementation, and what is refused."""

from __future__ import annotations

import json
import random
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notifications.sms.gsm7 import ALPHABET, ESCAPE, EXTENSION, septets
from notifications.sms.segmentation import (
    Encoding,
    InvalidSmsText,
    Segmentation,
    count,
    normalized,
    segment,
    segments_bucket,
    split,
)
from tests.unit import segmentation_oracle as oracle

VECTORS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "data" / "sms_segments.json").read_text(encoding="utf-8")
)["vectors"]
STRINGS = 24_000
#: Vectors whose text no SMS of ours may carry, and those that NFC changes, with what they become.
REFUSED = {"a*69+TAB", "a*70+TAB", "\\x1be", "\\x00", "lone high surrogate \\ud83d"}
COMPOSED = {"\\u2126 OHM": ("gsm7", 1, 1), "a*157+NFD eacute": ("gsm7", 158, 1)}


def names(vector: dict[str, Any]) -> str:
    return ascii(vector["name"])


def figures(found: Segmentation) -> tuple[str, int, int]:
    return found.encoding, found.units, found.segments


def expected(vector: dict[str, Any]) -> tuple[str, int, int]:
    return vector["encoding"], vector["units"], vector["segments"]


def test_no_vector_was_left_out() -> None:
    assert len({vector["name"] for vector in VECTORS}) == len(VECTORS) == 60
    assert {vector["name"] for vector in VECTORS} >= REFUSED | COMPOSED.keys()


@pytest.mark.parametrize("vector", VECTORS, ids=names)
def test_a_vector_is_counted_as_given(vector: dict[str, Any]) -> None:
    assert figures(count(vector["text"])) == expected(vector)


@pytest.mark.parametrize("vector", [v for v in VECTORS if v["name"] not in REFUSED], ids=names)
def test_a_vector_that_may_be_sent_is_counted_in_its_composed_form(vector: dict[str, Any]) -> None:
    assert figures(segment(vector["text"])) == COMPOSED.get(vector["name"], expected(vector))


@pytest.mark.parametrize("vector", [v for v in VECTORS if v["name"] in REFUSED], ids=names)
def test_a_vector_with_a_control_character_is_refused(vector: dict[str, Any]) -> None:
    with pytest.raises(InvalidSmsText):
        segment(vector["text"])


@pytest.mark.parametrize("vector", VECTORS, ids=names)
def test_the_second_implementation_agrees_on_a_vector(vector: dict[str, Any]) -> None:
    found = oracle.cut(vector["text"])
    assert (found.encoding, found.units, len(found.segments)) == expected(vector)


def test_both_tables_hold_the_same_characters() -> None:
    widths = {char: width for point in range(0x110000) if (width := septets(char := chr(point)))}
    assert widths == {char: len(octets) for char, octets in oracle.ENCODED.items()}
    assert len(widths) == 127 + 10


@pytest.mark.parametrize(("octets", "char"), oracle.DECODED.items())
def test_both_tables_give_a_character_the_same_code(octets: bytes, char: str) -> None:
    code = octets[-1]
    assert code == (EXTENSION[char] if len(octets) == 2 else ALPHABET.index(char))


def test_an_escape_is_never_text() -> None:
    assert septets(ESCAPE) is None
    assert ALPHABET[0x1B] == ESCAPE


@pytest.mark.parametrize("text", ["", "ab", "é", "a" * 161])
def test_only_one_character_at_a_time_has_septets(text: str) -> None:
    assert septets(text) == (1 if len(text) == 1 else None)


# --- A second implementation --------------------------------------------------------------------

GSM = ALPHABET.replace(ESCAPE, "")
ALPHABETS = (
    GSM,
    "".join(EXTENSION).replace("\f", ""),
    "abc []€",
    "\u2019\u2014\u00a0\u0161\u03b1\u4e2d\u0627",
    "\U0001f600\U0001f468\U0001f3fd\U0001f1ee\U0001f1f9\U00020000",
    "e\u0301\u0308\u0327\u200d\ufe0f",
)
CONTROLS = "\x00\x07\t\x1b\f\x7f\x85\x9f\ud83d\ude00"


def strings(seed: int) -> Iterator[str]:
    """Mixes of one to three alphabets, around the lengths at which a segment is full."""
    draw = random.Random(seed)
    for _ in range(STRINGS):
        letters = "".join(draw.sample(ALPHABETS, draw.randint(1, 3)))
        length = draw.choice((draw.randint(0, 12), draw.randint(60, 80), draw.randint(125, 500)))
        text = draw.choices(letters, k=length)
        if draw.random() < 0.05:
            text.insert(draw.randint(0, length), draw.choice(CONTROLS))
        yield "".join(text)


@pytest.fixture(scope="module")
def seeded() -> list[str]:
    return list(strings(20261129))


def assert_agrees(text: str) -> None:
    """Both count and cut alike, and each segment can be read alone."""
    found, second = segment(text), oracle.cut(unicodedata.normalize("NFC", text))
    parts = split(normalized(text))
    assert figures(found) == (second.encoding, second.units, len(second.segments))
    assert parts == [oracle.read(second.encoding, octets) for octets in second.segments]
    assert len(parts) == found.segments
    assert "".join(parts) == unicodedata.normalize("NFC", text)


def test_both_implementations_agree_on_twenty_thousand_strings(seeded: list[str]) -> None:
    sendable = [text for text in seeded if not oracle.is_refused(text)]
    assert len(sendable) >= 20_000
    for text in sendable:
        assert_agrees(text)


def test_the_strings_reach_every_kind_of_cut(seeded: list[str]) -> None:
    """Or the agreement would say little."""
    found = [count(text) for text in seeded]
    assert {one.encoding for one in found} == set(Encoding)
    assert {one.bucket for one in found} == {"0", "1", "2", "3", "4-6", "7+"}
    capacity = {Encoding.GSM7: 153, Encoding.UCS2: 67}
    backed_off = [one for one in found if one.segments > max(1, -(-one.units // capacity[one.encoding]))]
    assert {one.encoding for one in backed_off} == set(Encoding)
    assert sum(unicodedata.normalize("NFC", text) != text for text in seeded) > 1_000


def test_both_implementations_refuse_the_same_strings(seeded: list[str]) -> None:
    refused = [text for text in seeded if oracle.is_refused(text)]
    assert len(refused) > 500
    for text in refused:
        with pytest.raises(InvalidSmsText):
            segment(text)


@given(st.text(max_size=400))
def test_any_text_is_refused_by_both_or_counted_alike(text: str) -> None:
    if oracle.is_refused(text):
        with pytest.raises(InvalidSmsText):
            segment(text)
    else:
        assert_agrees(text)


@given(st.text(alphabet=GSM + "[]€\u2019\U0001f600e\u0301", max_size=700))
def test_texts_near_the_alphabet_are_counted_alike(text: str) -> None:
    assert_agrees(text)


@given(st.text(alphabet="ab[€é\u2019\U0001f600", max_size=500))
def test_a_composed_text_is_counted_as_it_is(text: str) -> None:
    assert segment(normalized(text)) == count(normalized(text))


# --- Figures ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "segments"),
    [
        ("a" * 160, 1),
        ("a" * 161, 2),
        ("a" * 306, 2),
        ("a" * 307, 3),
        ("a" * 152 + "[" + "a" * 152, 3),  # 306 septets, but the pair moves on
        ("]" * 153, 3),
        ("š" * 70, 1),
        ("š" * 71, 2),
        ("š" * 134, 2),
        ("š" * 135, 3),
        ("\U0001f600" * 35, 1),
        ("\U0001f600" * 66, 2),
        ("\U0001f600" * 67, 3),  # 134 units, but 33 pairs fill a segment
    ],
)
def test_a_pair_is_never_cut(text: str, segments: int) -> None:
    assert segment(text).segments == segments


@pytest.mark.parametrize(
    ("text", "forcing"),
    [
        ("plain [text] for 5€", None),
        ("isn\u2019t it \u2014 so", "\u2019"),
        ("dvacet ři\u2019", "ř"),
        ("e\u0301", None),
        ("x\u0301", "\u0301"),
        ("na\u00efve", "\u00ef"),
        ("fran\u00e7ais", "\u00e7"),
        ("FRAN\u00c7AIS", None),
    ],
)
def test_the_first_character_outside_the_alphabet_is_named(text: str, forcing: str | None) -> None:
    found = segment(text)
    assert found.forcing == forcing
    assert (found.encoding is Encoding.UCS2) == (forcing is not None)


@pytest.mark.parametrize("text", ["two\nlines", "two\r\nlines"])
def test_line_ends_are_text(text: str) -> None:
    assert segment(text).encoding is Encoding.GSM7


@pytest.mark.parametrize(
    ("code_point", "kind"),
    [(point, "control") for point in [*range(32), *range(0x7F, 0xA0)] if point not in (10, 13)]
    + [(0xD800, "surrogate"), (0xDBFF, "surrogate"), (0xDC00, "surrogate"), (0xDFFF, "surrogate")],
)
def test_a_control_character_is_named_by_code_point_and_position(code_point: int, kind: str) -> None:
    with pytest.raises(InvalidSmsText, match=kind) as caught:
        segment("reset" + chr(code_point) + "link")
    assert (caught.value.code_point, caught.value.position) == (code_point, 5)
    assert f"U+{code_point:04X} at position 5" in str(caught.value)


def test_a_refusal_does_not_repeat_the_text() -> None:
    with pytest.raises(InvalidSmsText) as caught:
        segment("https://shop.example/reset/secret\x00")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("segments", "bucket"),
    [(0, "0"), (1, "1"), (2, "2"), (3, "3"), (4, "4-6"), (5, "4-6"), (6, "4-6"), (7, "7+"), (255, "7+")],
)
def test_segments_are_recorded_in_buckets(segments: int, bucket: str) -> None:
    assert segments_bucket(segments) == bucket


def test_a_negative_number_of_segments_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="-1"):
        segments_bucket(-1)
