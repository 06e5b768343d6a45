"""What the model said beside what was measured, and whether that is near enough. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from resetdelivery.domain.capacity import Cost, Costs

#: How far a prediction may be off, of what was measured; more only where the runs differ by more.
ALLOWED = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One number of one configuration: predicted, and measured once a round."""

    configuration: str
    name: str
    predicted: float
    measured: Sequence[float]

    @property
    def median(self) -> float:
        """The middle of the rounds."""
        return statistics.median(self.measured)

    @property
    def spread(self) -> float:
        """From the lowest round to the highest, as a share of the median."""
        return (max(self.measured) - min(self.measured)) / self.median

    @property
    def error(self) -> float:
        """How far the prediction is from the median, as a share of that."""
        return self.predicted / self.median - 1.0

    @property
    def is_within(self) -> bool:
        """Near enough: within 15 per cent, or within what the rounds differ among themselves."""
        return abs(self.error) <= max(ALLOWED, self.spread)


def table(found: Sequence[Compared]) -> str:
    """A Markdown table, a row for each comparison, and a sentence on what is outside."""
    lines = [
        "| configuration | | predicted | measured (median) | run to run | error | |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in found:
        numbers = f"{one.predicted:.0f} | {one.median:.0f} | {one.spread:.0%} | {one.error:+.0%}"
        where = "within" if one.is_within else "**outside**"
        lines.append(f"| {one.configuration} | {one.name} | {numbers} | {where} |")
    return "\n".join([*lines, "", verdict(found)])


def costs_table(costs: Costs) -> str:
    """A Markdown table of what the steps cost."""
    lines = ["| ms | worker CPU | database CPU | neither |", "|---|---|---|---|"]
    for name in ("hint", "claim", "wave", "row", "admission"):
        cost: Cost = getattr(costs, name)
        parts = (cost.worker, cost.database, cost.waiting)
        lines.append(f"| {name} | {' | '.join(f'{1000 * seconds:.2f}' for seconds in parts)} |")
    lines.append(f"| pickup | | | {1000 * costs.pickup:.2f} |")
    return "\n".join(lines)


def verdict(found: Sequence[Compared]) -> str:
    """One sentence: how many are within, and which are not."""
    outside = [f"{one.configuration}: {one.name}" for one in found if not one.is_within]
    inside = len(found) - len(outside)
    said = f"{inside} of {len(found)} within {ALLOWED:.0%}, or the spread of the runs where that is larger"
    return f"{said}; outside: {'; '.join(outside)}." if outside else f"{said}."
