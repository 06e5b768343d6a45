"""Lifetimes in words."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
import unicodedata
from collections.abc import Iterator

import pytest

from notifications import durations
from notifications.durations import (
    WORDS,
    DurationWords,
    add_duration_words,
    arabic,
    duration_words,
    has_duration_words,
    polish,
)

MINUTE = dt.timedelta(minutes=1)


@pytest.mark.parametrize(
    ("remaining", "words"),
    [
        (dt.timedelta(), "under a minute"),
        (dt.timedelta(seconds=-5), "under a minute"),
        (dt.timedelta(seconds=59), "under a minute"),
        (dt.timedelta(seconds=60), "1 minute"),
        (dt.timedelta(minutes=9, seconds=59), "9 minutes"),
        (dt.timedelta(minutes=59, seconds=59), "59 minutes"),
        (dt.timedelta(hours=1), "1 hour"),
        (dt.timedelta(hours=1, minutes=1), "1 hour 1 minute"),
        (dt.timedelta(hours=24), "24 hours"),
        (dt.timedelta(days=3, minutes=5), "72 hours 5 minutes"),
    ],
)
def test_a_lifetime_is_rounded_down_to_whole_minutes(remaining: dt.timedelta, words: str) -> None:
    assert duration_words("en").phrase(remaining) == words


@pytest.mark.parametrize(
    ("locale", "minutes", "words"),
    [
        ("de", 1, "1 Minute"),
        ("de", 65, "1 Stunde 5 Minuten"),
        ("fr", 10, "10 minutes"),
        ("fr", 121, "2 heures et 1 minute"),
        ("es", 1, "1 minuto"),
        ("es", 130, "2 horas y 10 minutos"),
        ("pt-BR", 61, "1 hora e 1 minuto"),
        ("pl", 1, "1 minutę"),
        ("pl", 2, "2 minuty"),
        ("pl", 5, "5 minut"),
        ("pl", 12, "12 minut"),
        ("pl", 22, "22 minuty"),
        ("pl", 25, "25 minut"),
        ("pl", 62, "1 godzinę i 2 minuty"),
        ("pl", 22 * 60, "22 godziny"),
        ("tr", 1, "1 dakika"),
        ("tr", 125, "2 saat 5 dakika"),
        ("el", 1, "1 λεπτό"),
        ("el", 130, "2 ώρες και 10 λεπτά"),
        ("ar", 1, "دقيقة واحدة"),
        ("ar", 2, "دقيقتين"),
        ("ar", 3, "3 دقائق"),
        ("ar", 10, "10 دقائق"),
        ("ar", 11, "11 دقيقة"),
        ("ar", 59, "59 دقيقة"),
        ("ar", 65, "ساعة واحدة و5 دقائق"),
        ("ar", 24 * 60, "24 ساعة"),
        ("ja", 10, "10分"),
        ("ja", 65, "1時間5分"),
        ("ja", 0, "1分未満"),
    ],
)
def test_each_language_has_its_own_plurals(locale: str, minutes: int, words: str) -> None:
    assert duration_words(locale).phrase(minutes * MINUTE) == words


@pytest.mark.parametrize(
    ("number", "form"),
    [(1, 0), (2, 1), (4, 1), (5, 2), (11, 2), (14, 2), (21, 2), (24, 1), (112, 2), (122, 1)],
)
def test_polish_counts_by_the_last_two_digits(number: int, form: int) -> None:
    assert polish(number) == form


@pytest.mark.parametrize(
    ("number", "form"),
    [(1, 0), (2, 1), (3, 2), (10, 2), (11, 3), (99, 3), (100, 3), (102, 3), (103, 2), (111, 3)],
)
def test_arabic_counts_by_the_last_two_digits(number: int, form: int) -> None:
    assert arabic(number) == form


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
def test_every_phrase_of_a_day_is_safe_in_html_and_on_the_air(words: DurationWords) -> None:
    phrases = [words.phrase(minutes * MINUTE) for minutes in range(24 * 60 + 1)]
    characters = set("".join(phrases))
    assert not characters & set("<>&\"'\n{}")
    assert {c for c in characters if unicodedata.category(c) == "Nd"} <= set("0123456789")
    assert {c for c in characters if c.isspace()} <= {" "}
    assert all(unicodedata.is_normalized("NFC", phrase) for phrase in phrases)


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
def test_two_lifetimes_never_read_alike(words: DurationWords) -> None:
    phrases = [words.phrase(minutes * MINUTE) for minutes in range(24 * 60 + 1)]
    assert len(set(phrases)) == len(phrases)


def test_the_longest_phrase_is_looked_for_among_all_shorter_lifetimes() -> None:
    assert duration_words("en").longest(10 * MINUTE) == "under a minute"
    assert duration_words("en").longest(dt.timedelta(hours=24)) == "10 hours 10 minutes"


@pytest.mark.parametrize("locale", ["en", "en-GB", "tlh"])
def test_a_language_without_words_uses_english(locale: str) -> None:
    assert duration_words(locale) is duration_words("en")


@pytest.fixture
def restored_words() -> Iterator[None]:
    before = dict(WORDS)
    yield
    durations.WORDS.clear()
    durations.WORDS.update(before)


@pytest.mark.usefixtures("restored_words")
def test_a_project_may_teach_a_language() -> None:
    assert not has_duration_words("nl")
    dutch = DurationWords(
        minutes=("{} minuut", "{} minuten"),
        hours=("{} uur", "{} uur"),
        under_a_minute="minder dan een minuut",
    )
    add_duration_words("nl", dutch)
    assert has_duration_words("nl-BE")
    assert duration_words("nl-BE").phrase(61 * MINUTE) == "1 uur 1 minuut"


@pytest.mark.parametrize(
    "module", ["notifications.durations", "notifications.locales", "notifications.email.headers"]
)
def test_the_words_need_nothing_but_the_standard_library(module: str) -> None:
    script = f"import sys, {module}; sys.exit('django' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
