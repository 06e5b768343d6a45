"""The comparison as Markdown. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.boundaries.configurations import Configuration, Health, processes
from bench.boundaries.measures import Row

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
_HEAD = (
    *("mail server", "boundary", "database", "request p50 / p99", "commit to accepted p50 / p99"),
    *("expired", "duplicates", "CPU per reset", "processes", "failed besides"),
)
_DEAD = {"refused": "refuses connections", "silent": "takes connections and says nothing"}


def page(rows: Sequence[Row], surroundings: Mapping[str, Any]) -> str:
    """Both tables, with what they were measured on."""
    return "\n\n".join([_measured_on(rows, surroundings), _main(rows), _by_role(rows)])


def put_between_marks(text: str, measured: str) -> str:
    """``text`` with ``measured`` in place of what stood between the marks; ``ValueError`` without them."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"The page has no place for the table: put {BEGIN} and {END} on lines of their own.")
    return f"{before}{BEGIN}\n{measured}\n{END}{after}"


def in_short(row: Row) -> str:
    """One line of progress."""
    parts = [f"{row.requests} requests {pair(row.request)}", f"accepted {_accepted(row)}"]
    return ", ".join([*parts, *([row.failed] if row.failed else [])])


def pair(milliseconds: tuple[float, float]) -> str:
    """p50 and p99 with their units."""
    return " / ".join(shown(value) for value in milliseconds)


def shown(milliseconds: float) -> str:
    """A time as short as its size deserves."""
    if milliseconds < 9.95:
        return f"{milliseconds:.1f} ms"
    return f"{milliseconds:.0f} ms" if milliseconds < 999.5 else f"{milliseconds / 1000:.1f} s"


def _accepted(row: Row) -> str:
    return "none" if row.accepted is None else pair(row.accepted)


def _measured_on(rows: Sequence[Row], of: Mapping[str, Any]) -> str:
    each = sorted({row.requests for row in rows})
    number = str(each[0]) if len(each) == 1 else f"{each[0]} to {each[-1]}"
    runs = max(row.runs for row in rows)
    return (
        f"Measured on {of['cores']} cores ({of['system']}, Python {of['python']}) with "
        f"{of['per_second']:g} arrivals a second for {of['seconds']:g} s, {runs} "
        f"{'run' if runs == 1 else 'runs'} of each row, {number} requests a row. "
        f"A healthy mail server answers in 5 ms, a slow one in 500 ms, a dead one {_DEAD[of['dead']]}."
    )


def _main(rows: Sequence[Row]) -> str:
    return _table(_HEAD, [_cells(row) for row in rows])


def _cells(row: Row) -> list[str]:
    of = row.configuration
    return [
        *(of.health, of.boundary, of.database, pair(row.request), _accepted(row)),
        *(f"{100 * row.expired:.0f} %", str(row.duplicates)),
        shown(sum(row.cpu_ms.values())) if row.cpu_ms else "?",
        str(len(processes(of.boundary, of.database))),
        row.failed or "nothing",
    ]


def _by_role(rows: Sequence[Row]) -> str:
    """Who has to run, and what each spends on a reset while all is well."""
    head = ("boundary", "database", "processes to operate, and CPU of each per reset (healthy)")
    healthy = [row for row in rows if row.configuration.health is Health.HEALTHY]
    return _table(
        head,
        [[row.configuration.boundary, row.configuration.database, _named(row)] for row in healthy],
    )


def _named(row: Row) -> str:
    def named(role: str) -> str:
        return f"{role} {shown(row.cpu_ms[role])}" if role in row.cpu_ms else role

    of: Configuration = row.configuration
    names = processes(of.boundary, of.database)
    return f"{len(names)}: " + ", ".join(map(named, names))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
