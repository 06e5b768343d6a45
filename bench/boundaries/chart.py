"""The comparison as a picture: small multiples on one logarithmic scale, readable on a phone. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from bench.boundaries.configurations import Boundary, Database, Health
from bench.boundaries.measures import Row
from bench.boundaries.table import pair

WIDTH = 400
#: Of the plot; boundaries stand on its left, numbers on its right.
LEFT, RIGHT = 66, 286
TICKS = {1.0: "1 ms", 10.0: "10 ms", 100.0: "100 ms", 1000.0: "1 s", 10000.0: "10 s"}
LINE, TITLE, GAP = 17, 24, 12
COLOURS = {Database.SQLITE: "#a04300", Database.POSTGRESQL: "#1f5fa8"}
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#1f1f1f}.h{font-weight:600;font-size:13px}"
    ".t{font-size:11px;fill:#555;text-anchor:middle}.n{font-size:11px}.g{stroke:#ddd}"
)
HEALTHS = {
    Health.HEALTHY: "healthy mail server (5 ms)",
    Health.SLOW: "slow mail server (500 ms)",
    Health.DEAD: "dead mail server",
}
#: What each panel shows: its heading, and the two percentiles of a row.
REQUEST, ACCEPTED = "Request", "Commit to accepted"


def svg(rows: Sequence[Row]) -> str:
    """The picture, complete, without anything from elsewhere."""
    panels = [
        (f"{what}, {words}", [row for row in rows if row.configuration.health is health], what)
        for what in (REQUEST, ACCEPTED)
        for health, words in HEALTHS.items()
        if not (what is ACCEPTED and health is Health.DEAD)
    ]
    y, drawn = 44, [_legend()]
    for heading, some, what in panels:
        drawn.append(_panel(heading, some, what, y))
        y += TITLE + LINE * len(some) + GAP + 14
    title, description = "How long a reset takes through each boundary", _description(rows)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}" '
        f'role="img" aria-labelledby="title desc">\n<title id="title">{title}</title>\n'
        f'<desc id="desc">{escape(description)}</desc>\n<style>{STYLE}</style>\n'
        f'<rect width="{WIDTH}" height="{y}" fill="#fff"/>\n' + "\n".join(drawn) + "\n</svg>\n"
    )


def across(milliseconds: float) -> float:
    """Where on the scale a time stands; what lies beyond an end stands at it."""
    low, high = math.log10(min(TICKS)), math.log10(max(TICKS))
    share = (math.log10(max(milliseconds, min(TICKS))) - low) / (high - low)
    return LEFT + min(share, 1.0) * (RIGHT - LEFT)


def _legend() -> str:
    marks = [_mark(database, 14 + 90 * n, 18) for n, database in enumerate(Database)]
    names = [
        f'<text x="{24 + 90 * n}" y="22">{escape(database)}</text>' for n, database in enumerate(Database)
    ]
    how = '<text x="212" y="22" class="n">mark: p50, end of line: p99</text>'
    return "".join([*marks, *names, how])


def _panel(heading: str, rows: Sequence[Row], what: str, y: int) -> str:
    bottom = y + TITLE + LINE * len(rows)
    drawn = [f'<text x="6" y="{y + 13}" class="h">{escape(heading)}</text>']
    for at, label in TICKS.items():
        x = across(at)
        drawn.append(f'<path class="g" d="M{x:.1f} {y + TITLE - 4}V{bottom}"/>')
        drawn.append(f'<text x="{x:.1f}" y="{bottom + 12}" class="t">{label}</text>')
    named: set[Boundary] = set()
    for number, row in enumerate(rows):
        middle = y + TITLE + LINE * number + 7
        boundary = row.configuration.boundary
        if boundary not in named:
            drawn.append(f'<text x="6" y="{middle + 4}">{escape(boundary)}</text>')
        named.add(boundary)
        drawn.append(_line(row, what, middle))
    return "\n".join(drawn)


def _line(row: Row, what: str, y: int) -> str:
    times = row.request if what is REQUEST else row.accepted
    if times is None:
        return f'<text x="{LEFT + 4}" y="{y + 4}" class="n">none accepted</text>'
    database = row.configuration.database
    begins, ends = (across(value) for value in times)
    bar = (
        f'<path d="M{begins:.1f} {y}H{ends:.1f}M{ends:.1f} {y - 4}V{y + 4}" '
        f'stroke="{COLOURS[database]}" stroke-width="2" fill="none"/>'
    )
    numbers = f'<text x="{RIGHT + 10}" y="{y + 4}" class="n">{pair(times)}</text>'
    return bar + _mark(database, begins, y) + numbers


def _mark(database: Database, x: float, y: int) -> str:
    """A circle or a square: nobody has to tell colours apart."""
    colour = COLOURS[database]
    if database is Database.SQLITE:
        return f'<circle cx="{x:.1f}" cy="{y}" r="4.5" fill="{colour}"/>'
    return f'<rect x="{x - 4:.1f}" y="{y - 4}" width="8" height="8" fill="{colour}"/>'


def _description(rows: Sequence[Row]) -> str:
    """Every number in words, for who cannot see the picture."""
    parts = ["Median and 99th percentile."]
    for row in rows:
        accepted = "nothing accepted" if row.accepted is None else f"accepted after {pair(row.accepted)}"
        parts.append(f"{row.configuration}: request {pair(row.request)}, {accepted}.")
    return " ".join(parts)
