"""Lifetimes in words: a duration never depends on a time zone, and stays true on a slow channel.

ASCII digits and plain spaces only. Django's ``timeuntil`` puts a no-break space between number
and unit, which turns an SMS from the 160-character alphabet into the 70-character one.
Pure: standard library only.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass

PluralRule = Callable[[int], int]


def one_or_more(number: int) -> int:
    """Singular for 1, plural for all others (CLDR: "one" and "other")."""
    return 0 if number == 1 else 1


def unchanging(_: int) -> int:
    """One form for every number, as in Japanese, or in Turkish after a numeral."""
    return 0


def polish(number: int) -> int:
    """1 minutę, 2-4 minuty, 5-21 minut, 22-24 minuty … (CLDR: "one", "few" and "many")."""
    if number == 1:
        return 0
    return 1 if number % 10 in {2, 3, 4} and number % 100 not in {12, 13, 14} else 2


def arabic(number: int) -> int:
    """1, the dual, 3-10 with a plural, all others with a singular (CLDR: "one" to "many")."""
    if number in {1, 2}:
        return number - 1
    return 2 if 3 <= number % 100 <= 10 else 3


@dataclass(frozen=True, slots=True, kw_only=True)
class DurationWords:
    """One language's words, in the case that follows "works for" in its templates.

    ``minutes`` and ``hours`` have a form for each value of ``plural``, with ``{}`` for the number.
    They hold no line break, quote or angle bracket: they are put into rendered HTML as they are.
    """

    minutes: tuple[str, ...]
    hours: tuple[str, ...]
    under_a_minute: str
    plural: PluralRule = one_or_more
    joint: str = " "

    def phrase(self, remaining: dt.timedelta) -> str:
        """``remaining``, rounded down to whole minutes: "1 hour 5 minutes", "9 minutes"."""
        total_minutes = max(remaining, dt.timedelta()) // dt.timedelta(minutes=1)
        hours, minutes = divmod(total_minutes, 60)
        parts = [
            forms[self.plural(number)].format(number)
            for number, forms in ((hours, self.hours), (minutes, self.minutes))
            if number
        ]
        return self.joint.join(parts) or self.under_a_minute

    def longest(self, lifetime: dt.timedelta) -> str:
        """The longest phrase of any duration up to ``lifetime``."""
        minutes = max(lifetime, dt.timedelta()) // dt.timedelta(minutes=1)
        return max((self.phrase(dt.timedelta(minutes=n)) for n in range(minutes + 1)), key=len)


WORDS = {
    "en": DurationWords(
        minutes=("{} minute", "{} minutes"), hours=("{} hour", "{} hours"), under_a_minute="under a minute"
    ),
    "de": DurationWords(
        minutes=("{} Minute", "{} Minuten"),
        hours=("{} Stunde", "{} Stunden"),
        under_a_minute="unter 1 Minute",
    ),
    "fr": DurationWords(
        minutes=("{} minute", "{} minutes"),
        hours=("{} heure", "{} heures"),
        under_a_minute="moins de 1 minute",
        joint=" et ",
    ),
    "es": DurationWords(
        minutes=("{} minuto", "{} minutos"),
        hours=("{} hora", "{} horas"),
        under_a_minute="menos de 1 minuto",
        joint=" y ",
    ),
    "pt": DurationWords(
        minutes=("{} minuto", "{} minutos"),
        hours=("{} hora", "{} horas"),
        under_a_minute="menos de 1 minuto",
        joint=" e ",
    ),
    "pl": DurationWords(
        minutes=("{} minutę", "{} minuty", "{} minut"),
        hours=("{} godzinę", "{} godziny", "{} godzin"),
        under_a_minute="mniej niż minutę",
        plural=polish,
        joint=" i ",
    ),
    "tr": DurationWords(
        minutes=("{} dakika",),
        hours=("{} saat",),
        under_a_minute="1 dakikadan az bir süre",
        plural=unchanging,
    ),
    "el": DurationWords(
        minutes=("{} λεπτό", "{} λεπτά"),
        hours=("{} ώρα", "{} ώρες"),
        under_a_minute="λιγότερο από 1 λεπτό",
        joint=" και ",
    ),
    "ar": DurationWords(
        minutes=("دقيقة واحدة", "دقيقتين", "{} دقائق", "{} دقيقة"),
        hours=("ساعة واحدة", "ساعتين", "{} ساعات", "{} ساعة"),
        under_a_minute="أقل من دقيقة",
        plural=arabic,
        joint=" و",
    ),
    "ja": DurationWords(
        minutes=("{}分",), hours=("{}時間",), under_a_minute="1分未満", plural=unchanging, joint=""
    ),
}


def has_duration_words(locale: str) -> bool:
    """Whether ``locale`` or its language has words of its own."""
    return locale in WORDS or locale.partition("-")[0] in WORDS


def duration_words(locale: str) -> DurationWords:
    """The words of ``locale`` (``pt-BR``) or its language; English for one that has none."""
    return WORDS.get(locale) or WORDS.get(locale.partition("-")[0]) or WORDS["en"]


def add_duration_words(locale: str, words: DurationWords) -> None:
    """Teach a language that a project has its own templates in; call it in ``AppConfig.ready``."""
    WORDS[locale] = words
