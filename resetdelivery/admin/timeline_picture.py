"""A timeline as marks on one line per channel. Pure: positions are per cent of the time shown."""

from __future__ import annotations

from dataclasses import dataclass

from resetdelivery.timeline import Event, Timeline

_LANE_HEIGHT = 28
_LEFT, _RIGHT = 14.0, 97.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One event: where it stands, and what a pointer that rests on it is told."""

    x: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One channel's line, at ``y`` pixels from the top."""

    name: str
    y: int
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """All lanes, and the seconds from the left end to the right one."""

    lanes: tuple[Lane, ...]
    height: int
    seconds: float


def drawn(timeline: Timeline) -> Picture:
    """The picture of ``timeline``, from its first event to its last."""
    start = timeline.events[0].at
    seconds = max((event.at - start).total_seconds() for event in timeline.events)
    names = list(dict.fromkeys(event.channel for event in timeline.events))
    lanes = tuple(
        Lane(
            name=name or "intent",
            y=_LANE_HEIGHT * (row + 1),
            marks=tuple(
                _mark(event, (event.at - start).total_seconds(), seconds)
                for event in timeline.events
                if event.channel == name
            ),
        )
        for row, name in enumerate(names)
    )
    return Picture(lanes=lanes, height=_LANE_HEIGHT * (len(lanes) + 1) + 8, seconds=seconds)


def _mark(event: Event, at: float, seconds: float) -> Mark:
    share = at / seconds if seconds else 0.0
    return Mark(x=f"{_LEFT + share * (_RIGHT - _LEFT):.2f}%", title=f"+{at:.3f} s {event.text}")
