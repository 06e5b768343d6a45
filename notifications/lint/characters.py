"""Characters that damage a message, named so that one can find them. Pure: standard library only."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

# Direction marks and joiners are of use in the text of a letter, and only there.
_INVISIBLE_IN_LINES = {"Cf", "Zl", "Zp"}
_LAST_OF_THE_BASIC_PLANE = "\uffff"


def described(char: str) -> str:
    """``é`` → ``LATIN SMALL LETTER E WITH ACUTE (U+00E9)``."""
    return f"{unicodedata.name(char, 'a control character')} (U+{ord(char):04X})"


def letter_problems(text: str) -> Iterator[str]:
    """What is wrong with the characters of any text, at the first of each kind."""
    for number, line in enumerate(text.split("\n"), 1):
        for char in line:
            if unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"}:
                yield f"line {number} holds {described(char)}: remove it"
                break
        if not unicodedata.is_normalized("NFC", line):
            yield f"line {number} is not in Unicode's form NFC at {_first_not_composed(line)}: compose it"


def line_problems(text: str) -> Iterator[str]:
    """As :func:`letter_problems`, for a subject or an SMS: no special spaces, nothing invisible."""
    yield from letter_problems(text)
    for number, line in enumerate(text.split("\n"), 1):
        for char in dict.fromkeys(line):
            category = unicodedata.category(char)
            if category == "Zs" and char != " ":
                yield f"line {number} holds {described(char)}: write a plain space"
            elif category in _INVISIBLE_IN_LINES:
                yield f"line {number} holds {described(char)}, which is invisible: remove it"
            elif char > _LAST_OF_THE_BASIC_PLANE:
                yield f"line {number} holds {described(char)}, which not every phone shows: remove it"


def columns(line: str) -> int:
    """How wide ``line`` is in a terminal: an ideograph takes two columns, a combining mark none."""
    return sum(_width(char) for char in line)


def _width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


def _first_not_composed(line: str) -> str:
    composed = unicodedata.normalize("NFC", line)
    return next(described(old) for old, new in zip(line, composed, strict=False) if old != new)
