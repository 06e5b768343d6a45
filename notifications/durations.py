"""Lifetimes in words: a duration never depends on a time zone, and stays true on a slow channel.

ASCII digits and plain spaces only. Django's ``timeuntil`` puts a no-break space between number
and unit, which turns an SMS from the 160-character alphabet into the 70-character one.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DurationWords:
    """One language's words; each form holds ``{}`` for its number."""

    minute: str
    minutes: str
    hour: str
    hours: str
    under_a_minute: str

    def phrase(self, remaining: dt.timedelta) -> str:
        """``remaining``, rounded down to whole minutes: "1 hour 5 minutes", "9 minutes"."""
        total_minutes = max(remaining, dt.timedelta()) // dt.timedelta(minutes=1)
        hours, minutes = divmod(total_minutes, 60)
        parts = [
            (self.hour if hours == 1 else self.hours).format(hours) if hours else "",
            (self.minute if minutes == 1 else self.minutes).format(minutes) if minutes else "",
        ]
        return " ".join(filter(None, parts)) or self.under_a_minute


WORDS = {
    "en": DurationWords(
        minute="{} minute",
        minutes="{} minutes",
        hour="{} hour",
        hours="{} hours",
        under_a_minute="less than a minute",
    ),
}


def duration_words(locale: str) -> DurationWords:
    """The words of ``locale`` (``pt-BR``) or its language; English for one that has none."""
    return WORDS.get(locale) or WORDS.get(locale.partition("-")[0]) or WORDS["en"]
