"""When people ask for a reset: one seeded Poisson process, the same for every configuration. Pure."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """``per_second`` on average, independent of each other and of how long the answers take.

    The first ``warm_up_seconds`` fill caches and connections and are not measured; ``seconds`` of
    arrivals follow that are.
    """

    per_second: float
    seconds: float
    seed: int
    warm_up_seconds: float = 1.0

    def offsets(self) -> tuple[float, ...]:
        """Seconds from the beginning, rising; ``ValueError`` where nothing would ever arrive."""
        if self.per_second <= 0 or self.seconds <= 0:
            raise ValueError(
                f"{self.per_second:g} arrivals a second for {self.seconds:g} s are none: write more than 0."
            )
        draw = random.Random(self.seed)
        ends, at, found = self.warm_up_seconds + self.seconds, 0.0, []
        while (at := at + draw.expovariate(self.per_second)) < ends:
            found.append(at)
        return tuple(found)
