"""Attempts by outcome as bars. Pure: widths are per cent of the picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from notifications.outcome import OutcomeKind

_ROW_HEIGHT = 22
_LEFT, _WIDEST = 32.0, 52.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One outcome: its number, and where its bar and the number behind it stand."""

    name: str
    number: int
    y: int
    middle: int
    width: str
    end: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """All bars, the longest as wide as there is room."""

    bars: tuple[Bar, ...]
    height: int


def drawn(attempts: Mapping[OutcomeKind, int]) -> Picture:
    """A bar for every outcome, in the order of the enumeration."""
    most = max(attempts.values(), default=0)
    bars = tuple(
        _bar(kind.value, attempts.get(kind, 0), most, row * _ROW_HEIGHT)
        for row, kind in enumerate(OutcomeKind)
    )
    return Picture(bars=bars, height=_ROW_HEIGHT * len(bars))


def _bar(name: str, number: int, most: int, y: int) -> Bar:
    width = _WIDEST * number / most if most else 0.0
    return Bar(
        name=name,
        number=number,
        y=y + 4,
        middle=y + _ROW_HEIGHT // 2,
        width=f"{width:.2f}%",
        end=f"{_LEFT + width + 1:.2f}%",
    )
