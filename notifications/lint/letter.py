"""The text part of an email."""

from __future__ import annotations

from collections.abc import Iterator

from notifications.lint.characters import columns, letter_problems
from notifications.lint.report import WorstCase
from notifications.lint.text import link_problems

#: Quoted-printable breaks longer lines softly (RFC 2045, section 6.7), and quoting adds to them.
MAX_LINE_COLUMNS = 75


def letter_text_problems(text: str, worst: WorstCase) -> Iterator[str]:
    """What a mail client would break, or a reader of plain text would not see."""
    yield from letter_problems(text)
    yield from link_problems(text, worst)
    for number, line in enumerate(text.split("\n"), 1):
        if not worst.is_link_in(line) and columns(line) > MAX_LINE_COLUMNS:
            yield f"line {number} is {columns(line)} columns wide: break it, {MAX_LINE_COLUMNS} are allowed"
