"""``manage.py sms_segments``."""

from __future__ import annotations

import io

import pytest
from django.core.management import CommandError, call_command


def segments(*arguments: str) -> dict[str, str]:
    out = io.StringIO()
    call_command("sms_segments", *arguments, stdout=out)
    return {line[:9].rstrip(): line[10:] for line in out.getvalue().splitlines()}


def test_a_plain_text_costs_septets() -> None:
    assert segments("a" * 152 + "[" + "a" * 152) == {
        "encoding": "gsm7",
        "units": "306",
        "segments": "3",
        "bucket": "3",
        "forced by": "nothing: every character is in the 7-bit alphabet",
    }


def test_the_character_that_forces_ucs2_is_named() -> None:
    assert segments("It\u2019s " + "a" * 300) == {
        "encoding": "ucs2",
        "units": "305",
        "segments": "5",
        "bucket": "4-6",
        "forced by": "U+2019 RIGHT SINGLE QUOTATION MARK at position 2 (counted from 0)",
    }


def test_a_character_without_a_name_has_its_number() -> None:
    assert segments("\ue000")["forced by"].startswith("U+E000 without a name at position 0")


def test_a_decomposed_text_is_counted_composed() -> None:
    assert segments("e\u0301")["units"] == "1"


def test_the_typographic_fallback_can_be_asked_for() -> None:
    assert segments("--plain", "It\u2019s")["encoding"] == "gsm7"


@pytest.mark.parametrize(
    ("given", "units"), [("abc\n", "3"), ("abc\r\n", "3"), ("a\nbc\n\n", "5"), ("", "0")]
)
def test_standard_input_is_read_without_its_last_line_end(
    monkeypatch: pytest.MonkeyPatch, given: str, units: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(given))
    assert segments("-")["units"] == units


def test_a_control_character_is_refused_by_its_place() -> None:
    with pytest.raises(CommandError, match=r"U\+0009 at position 1 .* remove it"):
        segments("a\tb")


def test_input_in_another_encoding_is_refused_by_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    latin = io.TextIOWrapper(io.BytesIO("clé".encode("latin-1")), encoding="utf-8", errors="strict")
    monkeypatch.setattr("sys.stdin", latin)
    with pytest.raises(CommandError, match="from byte 2 on: convert"):
        segments("-")


def test_a_byte_that_the_terminal_could_not_decode_is_named() -> None:
    with pytest.raises(CommandError, match=r"byte 0xE9 at position 2 .* convert"):
        segments(b"cl\xe9".decode("utf-8", "surrogateescape"))


def test_a_text_must_be_given() -> None:
    with pytest.raises(CommandError, match="text"):
        segments()
