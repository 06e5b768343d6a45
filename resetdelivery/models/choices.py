"""Django choices made from the domain's closed sets."""

from __future__ import annotations

import enum
from collections.abc import Iterable


def choices(members: Iterable[enum.StrEnum]) -> list[tuple[str, str]]:
    """``(value, label)`` pairs for a field."""
    return [(member.value, member.value.replace("_", " ")) for member in members]


def values(members: Iterable[enum.StrEnum]) -> list[str]:
    """Sorted plain values, so that a constraint made from a set is the same in every process."""
    return sorted(member.value for member in members)
