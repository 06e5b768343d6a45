"""What a log line may hold: every event of this package with its fields, in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a line: its type, and examples of what it holds at worst and usually."""

    name: str
    type: type
    worst: object
    typical: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One kind of line; ``per_reset`` is how many of them one reset makes on the average."""

    name: str
    fields: tuple[Field, ...]
    per_reset: float = 0.0


EVENTS: tuple[Event, ...] = ()
