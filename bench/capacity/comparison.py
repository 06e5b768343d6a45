"""What the model said beside what was measured, and whether that is near enough. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from resetdelivery.domain.capacity import Cost, Costs

#: How far a prediction may be off, of what was measured; more only where the runs differ by more.
ALLOWED = 0.15
_NOT_MEASURED = "**not measured**: arrivals came late"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One number of one configuration: predicted, and measured once a round.

    ``measured`` is empty where no round counts: arrivals came late on a machine that was too busy.
    """

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
        if not one.measured:
            lines.append(
                f"| {one.configuration} | {one.name} | {one.predicted:.0f} | {_NOT_MEASURED} | | | |"
            )
            continue
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


def source(costs: Costs) -> str:
    """``costs`` as Python for ``USUAL_COSTS``, to a hundredth of a millisecond."""
    parts = []
    for name in ("hint", "claim", "wave", "row", "admission"):
        of: Cost = getattr(costs, name)
        values = {"worker": of.worker, "database": of.database, "waiting": of.waiting}
        said = ", ".join(f"{key}={seconds:.5f}" for key, seconds in values.items())
        parts.append(f"    {name}=Cost({said}),")
    parts += [f"    pickup={costs.pickup:.5f},", f"    surroundings={costs.surroundings:.5f},"]
    return "\n".join(["USUAL_COSTS = Costs(", *parts, ")", ""])


def verdict(found: Sequence[Compared]) -> str:
    """One sentence: how many are within, which are not, and which could not be measured."""
    measured = [one for one in found if one.measured]
    outside = [one for one in measured if not one.is_within]
    inside = len(measured) - len(outside)
    parts = [
        f"{inside} of {len(found)} within {ALLOWED:.0%}, or the spread of the runs where that is larger",
        *([f"outside: {_names(outside)}"] if outside else []),
    ]
    missing = [one for one in found if not one.measured]
    if missing:
        parts.append(f"not measured, for arrivals came late: {_names(missing)}")
    return f"{'; '.join(parts)}."


def _names(found: Sequence[Compared]) -> str:
    return "; ".join(f"{one.configuration}: {one.name}" for one in found)
