"""What one run shows. Pure; seconds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """Moments of each delivery, in the order of their marks, and processor seconds by role.

    ``behind``: how late an arrival was at most, for the machine was busy.
    """

    marked: Sequence[float]
    accepted: Sequence[float]
    due: Sequence[float]
    cpu: Mapping[str, float] = field(default_factory=dict)
    behind: float = 0.0

    def queue_delay(self, share: float) -> float:
        """A quantile from due to marked."""
        return quantile([at - due for at, due in zip(self.marked, self.due, strict=True)], share)

    def until_accepted(self, share: float) -> float:
        """A quantile from due to accepted."""
        return quantile([at - due for at, due in zip(self.accepted, self.due, strict=True)], share)

    def rate(self) -> float:
        """Deliveries per second."""
        return steady_rate(self.accepted)

    def seconds(self) -> float:
        """From the first mark to the last acceptance."""
        return max(self.accepted) - min(self.marked)


def quantile(values: Sequence[float], share: float, *, skip: float = 0.1) -> float:
    """A quantile of ``values``, without the first ones, which found everything empty."""
    ordered = sorted(values[int(len(values) * skip) :])
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def steady_rate(moments: Sequence[float]) -> float:
    """Events per second: the slope of the straight line through the middle eight tenths of them.

    Waves end together, so that a count between two moments would depend on where they fall.
    """
    ordered = sorted(moments)
    kept = list(enumerate(ordered))[len(ordered) // 10 : len(ordered) * 9 // 10]
    numbers, times = [float(n) for n, _ in kept], [at for _, at in kept]
    mean_number, mean_time = math.fsum(numbers) / len(kept), math.fsum(times) / len(kept)
    products = math.fsum((n - mean_number) * (at - mean_time) for n, at in kept)
    return products / math.fsum((at - mean_time) ** 2 for at in times)
