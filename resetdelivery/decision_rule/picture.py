"""The worst case of each channel as an SVG: bars over the life of a reset.

The picture scales to the width it is given. Where that is small its letters grow, so each row has
its text above its bar; what a bar is made of is told by colour, by height and by the legend.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from resetdelivery.decision_rule.rule import DecisionRule
from resetdelivery.decision_rule.timeline import MEANINGS, Bar, Part, Span, timeline_of
from resetdelivery.decision_rule.way import Way

WIDTH, MARGIN = 1100.0, 20.0
_ROW, _LINE = 62.0, 44.0
#: Of a bar: from the top of its row, and how high.
_BARS = {
    Part.WAIT: (46.0, 4.0),
    Part.DEAD: (38.0, 16.0),
    Part.BACKOFF: (44.0, 8.0),
    Part.ATTEMPT: (36.0, 20.0),
}
_CLASSES = {Part.WAIT: "wait", Part.DEAD: "dead", Part.BACKOFF: "backoff", Part.ATTEMPT: "attempt"}
_STYLE = """
svg{--paper:#fff;--ink:#1f1f1f;--faint:#767676;--dead:#b3261e;--backoff:#9a6700;--attempt:#0b57d0}
@media (prefers-color-scheme:dark){
svg{--paper:#14161a;--ink:#e8e8e8;--faint:#9a9a9a;--dead:#ff8a80;--backoff:#e3b341;--attempt:#8ab4f8}}
text{font:18px system-ui,sans-serif;fill:var(--ink)}
.name{font-weight:600}
@media (max-width:600px){text{font-size:34px}}
.paper{fill:var(--paper)}.wait{fill:var(--faint)}.dead{fill:var(--dead)}
.backoff{fill:var(--backoff)}.attempt{fill:var(--attempt)}
.latest,.expiry,.axis{stroke:var(--ink);stroke-width:2}.latest{stroke-dasharray:6 5}.axis{stroke:var(--faint)}
"""


def picture(rule: DecisionRule) -> str:
    """The SVG; nothing in it is fetched from anywhere."""
    ways = [one.way for one in rule.channels]
    parts: list[str] = []
    top = _LINE * 3
    for way in ways:
        parts += _channel(way, top)
        top += _height(way)
    said = escape(" ".join(_summary(way) for way in ways))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {top:g}" role="img" '
            'aria-labelledby="title desc">',
            '<title id="title">What goes on in the life of a reset when all goes badly</title>',
            f'<desc id="desc">{said}</desc>',
            f"<style>{_STYLE}</style>",
            f'<rect class="paper" width="{WIDTH:g}" height="{top:g}"/>',
            *_legend(),
            *parts,
            "</svg>",
            "",
        ]
    )


def _legend() -> Iterator[str]:
    for number, (part, meaning) in enumerate(MEANINGS.items()):
        x, y = MARGIN + number % 2 * WIDTH / 2, number // 2 * _LINE + 10
        yield _rect(part, x, y - 22, 44)
        yield _text(x + 60, y + 33, meaning)


def _height(way: Way) -> float:
    return 4 * _LINE + _ROW * len(timeline_of(way.worst).bars)


def _channel(way: Way, top: float) -> Iterator[str]:
    course, line = way.worst, timeline_of(way.worst)
    yield _text(MARGIN, top + 30, f"{way.channel} at the boundary {way.boundary}", "name")
    rows, bottom = top + _LINE, top + _LINE + _ROW * len(line.bars)
    latest, expiry = (_x(at, line.seconds) for at in (course.last_start_seconds, course.life_seconds))
    for number, bar in enumerate(line.bars):
        yield from _bar(bar, rows + number * _ROW, line.seconds)
    yield _line("axis", (MARGIN, bottom + 4), (WIDTH - MARGIN, bottom + 4))
    yield _line("latest", (latest, rows), (latest, bottom + 4))
    yield _line("expiry", (expiry, rows), (expiry, bottom + 4))
    yield _text(MARGIN, bottom + 40, f"dashed: latest start that helps, {course.last_start_seconds:,.1f} s")
    yield _text(MARGIN, bottom + 40 + _LINE, f"solid: expiry, {course.life_seconds:,.1f} s; {_fit(way)}")


def _bar(bar: Bar, top: float, seconds: float) -> Iterator[str]:
    yield _text(MARGIN, top + 30, _label(bar))
    for span in bar.spans:
        yield _span(span, top, seconds)


def _label(bar: Bar) -> str:
    """The row's name, when what it is about begins, and whether that is too late."""
    last: Sequence[Span] = bar.spans[-1:]
    if not last or last[0].part is not Part.ATTEMPT:
        return bar.name
    late = "" if bar.fits else ": too late"
    return f"{bar.name} starts at {last[0].start:,.1f} s{late}"


def _span(span: Span, top: float, seconds: float) -> str:
    start, end = _x(span.start, seconds), _x(span.end, seconds)
    return _rect(span.part, start, top, max(end - start, 1.5))


def _rect(part: Part, x: float, top: float, width: float) -> str:
    offset, height = _BARS[part]
    return (
        f'<rect class="{_CLASSES[part]}" x="{x:.1f}" y="{top + offset:.1f}" '
        f'width="{width:.1f}" height="{height:g}"/>'
    )


def _x(at: float, seconds: float) -> float:
    return MARGIN + at / seconds * (WIDTH - 2 * MARGIN)


def _line(kind: str, start: tuple[float, float], end: tuple[float, float]) -> str:
    (x1, y1), (x2, y2) = start, end
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, words: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>'


def _fit(way: Way) -> str:
    return f"{way.worst.fitting} of {way.max_attempts} attempts fit"


def _summary(way: Way) -> str:
    last = way.worst.needed_seconds(way.worst.tries)
    return (
        f"{way.channel}: {_fit(way)} into {way.worst.useful_seconds:,.1f} useful seconds; "
        f"attempt {way.worst.tries} would be done after {last:,.1f} s."
    )
