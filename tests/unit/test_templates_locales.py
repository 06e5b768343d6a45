"""Language tags."""

from __future__ import annotations

import pytest

from notifications.locales import canonical, direction, locale_candidates


@pytest.mark.parametrize(
    ("locale", "candidates"),
    [
        ("en", ["en"]),
        ("en-GB", ["en-GB", "en"]),
        ("de-AT", ["de-AT", "de", "en"]),
        ("pt-BR", ["pt-BR", "pt", "en"]),
        ("pt_BR", ["pt-BR", "pt", "en"]),
        ("pt-br", ["pt-BR", "pt", "en"]),  # as Django writes it
        ("pt", ["pt", "pt-BR", "en"]),
        ("pt-PT", ["pt-PT", "pt", "pt-BR", "en"]),
        ("zh-hant-tw", ["zh-Hant-TW", "zh-Hant", "zh", "en"]),
        ("zz", ["zz", "en"]),
        ("", ["en"]),
        ("../../etc", ["en"]),
        ("de/..", ["en"]),
        ("de\n", ["en"]),
    ],
)
def test_a_locale_falls_back_to_its_language_and_then_to_english(locale: str, candidates: list[str]) -> None:
    assert locale_candidates(locale) == candidates


@pytest.mark.parametrize(
    ("tag", "written"),
    [("PT_br", "pt-BR"), ("zh-hANT", "zh-Hant"), ("es-419", "es-419"), ("ca-valencia", "ca-valencia")],
)
def test_a_tag_is_written_in_one_way(tag: str, written: str) -> None:
    assert canonical(tag) == written


@pytest.mark.parametrize(
    ("locale", "expected"),
    [
        ("en", "ltr"),
        ("ar", "rtl"),
        ("ar-EG", "rtl"),
        ("he", "rtl"),
        ("fa_IR", "rtl"),
        ("ja", "ltr"),
        ("az-Arab", "rtl"),
        ("ar-Latn", "ltr"),
        ("", "ltr"),
    ],
)
def test_a_locale_is_read_in_its_direction(locale: str, expected: str) -> None:
    assert direction(locale) == expected
