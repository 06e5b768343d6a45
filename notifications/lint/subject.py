"""The subject: one line, short enough to be read whole. Pure: standard library only."""

from __future__ import annotations

from collections.abc import Iterator

from notifications.lint.characters import columns, line_problems

#: RFC 5322, section 2.1.1: a line should have 78 characters at most, the header's name included.
MAX_SUBJECT_COLUMNS = 78 - len("Subject: ")


def subject_problems(subject: str) -> Iterator[str]:
    """What would make the subject hard to read, or another header."""
    if not subject:
        yield "is empty"
    elif "\n" in subject:
        yield "has more than one line: a line break in a header starts another header"
    else:
        yield from line_problems(subject)
    if columns(subject) > MAX_SUBJECT_COLUMNS:
        yield f"is {columns(subject)} columns wide: {MAX_SUBJECT_COLUMNS} fit the line (RFC 5322, 2.1.1)"
