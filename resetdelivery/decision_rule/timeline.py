"""The worst case as bars over the life of a reset: what goes on when, row by row."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from resetdelivery.domain.decision_rule import Course


class Part(enum.StrEnum):
    """What a stretch of time is spent with; the value is how a terminal shows it."""

    WAIT = "."
    DEAD = "x"
    BACKOFF = "~"
    ATTEMPT = "#"


MEANINGS = {
    Part.WAIT: "waits",
    Part.DEAD: "held by a dead worker",
    Part.BACKOFF: "backoff or pause",
    Part.ATTEMPT: "attempt",
}
LATEST_START, EXPIRY = "|", "!"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch in seconds from the request."""

    part: Part
    start: float
    end: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One row; ``fits`` says whether an attempt that it shows can help, and is true without one."""

    name: str
    spans: tuple[Span, ...]
    fits: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """All rows, and the seconds that the picture is wide."""

    bars: tuple[Bar, ...]
    seconds: float


def timeline_of(course: Course) -> Timeline:
    """The rows of ``course``: what comes before the first attempt, then a row for each shown."""
    bars = (_before(course), *(_attempt(course, number) for number in course.shown))
    ends = [span.end for bar in bars for span in bar.spans]
    return Timeline(bars=bars, seconds=max([course.life_seconds, *ends]))


def _before(course: Course) -> Bar:
    waited = course.first_start_seconds - course.recovery_seconds
    return Bar(
        name="before attempt 1",
        spans=_spans((Part.WAIT, waited), (Part.DEAD, course.recovery_seconds)),
    )


def _attempt(course: Course, number: int) -> Bar:
    start = course.start_seconds(number)
    spans: tuple[Span, ...] = ()
    if number > 1:
        rest = course.rest_seconds(number - 1)
        between = course.between_seconds(number - 1)
        spans = _spans((Part.BACKOFF, rest), (Part.WAIT, between - rest), at=start - between)
    takes = course.latency_seconds if number == course.tries else course.failure_seconds
    return Bar(
        name=f"attempt {number}",
        spans=(*spans, *_spans((Part.ATTEMPT, takes), at=start)),
        fits=course.fits(number),
    )


def _spans(*parts: tuple[Part, float], at: float = 0.0) -> tuple[Span, ...]:
    found = []
    for part, seconds in parts:
        if seconds > 0:
            found.append(Span(part=part, start=at, end=at + seconds))
        at += seconds
    return tuple(found)


def drawn(course: Course, width: int) -> Iterator[str]:
    """``course`` in plain characters, no line longer than ``width``."""
    timeline = timeline_of(course)
    label = max(len(bar.name) for bar in timeline.bars) + 2
    scale = _Scale(timeline.seconds, max(width - label, 10))
    yield "".ljust(label) + scale.axis()
    for bar in timeline.bars:
        yield (bar.name.ljust(label) + scale.bar(bar.spans, course)).rstrip()
    parts = ", ".join(f"{part} {meaning}" for part, meaning in MEANINGS.items())
    yield from _folded(f"{parts}, {LATEST_START} latest start, {EXPIRY} expiry", width)


def _folded(text: str, width: int) -> Iterator[str]:
    line = ""
    for piece in text.split(", "):
        if line and len(line) + len(piece) + 3 > width:
            yield line + ","
            line = piece
        else:
            line = f"{line}, {piece}" if line else piece
    yield line


class _Scale:
    """So many columns for so many seconds."""

    def __init__(self, seconds: float, columns: int) -> None:
        self.seconds, self.columns = seconds, columns

    def column(self, at: float) -> int:
        """The column that shows the moment ``at``."""
        return min(max(int(at / self.seconds * self.columns), 0), self.columns - 1)

    def axis(self) -> str:
        end = f"{self.seconds:.0f} s"
        return "0 s" + end.rjust(self.columns - len("0 s"))

    def bar(self, spans: Sequence[Span], course: Course) -> str:
        cells = [" "] * self.columns
        cells[self.column(course.last_start_seconds)] = LATEST_START
        cells[self.column(course.life_seconds)] = EXPIRY
        for span in spans:
            first, last = self.column(span.start), self.column(span.end)
            # At least one column: a short wait is one too.
            cells[first : max(last, first + 1)] = span.part.value * (max(last, first + 1) - first)
        return "".join(cells)
