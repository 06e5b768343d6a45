"""What telemetry may cost: sizes, how much of each is kept, and ceilings."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

#: Of a log collector's batch: so many lines are compressed together.
BATCH_LINES = 100
#: What is left when one in ten is kept.
SAMPLE_SHARE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """How many of one kind are kept: ``per_day`` for ``days``, in ``copies``.

    ``index_factor`` is what a store's own index makes of one octet (1.0: there is none).
    """

    per_day: float
    days: float
    copies: int = 1
    index_factor: float = 1.0

    def kept_bytes(self, bytes_each: float) -> float:
        """Octets held once the retention is full."""
        return self.per_day * self.days * self.copies * self.index_factor * bytes_each


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """One bound: the key of ``RESETDELIVERY`` that sets it, what is used, and the most that may be."""

    setting: str
    what: str
    used: float
    most: float

    @property
    def is_over(self) -> bool:
        """Whether more is used than may be."""
        return self.used > self.most

    @property
    def share(self) -> float:
        """Used of what may be, above 1 when over."""
        return self.used / self.most


def days(duration: dt.timedelta) -> float:
    """How many days a duration has."""
    return duration / dt.timedelta(days=1)


def saved_by_dropping(series: int, sizes: Mapping[str, int]) -> dict[str, int]:
    """Series that a metric of ``series`` would have less without each of its labels."""
    return {name: series - series // size for name, size in sizes.items()}


def saved_by_sampling(kept: float, share: float = SAMPLE_SHARE) -> float:
    """Octets that are not held when only ``share`` of all is kept."""
    return kept * (1 - share)


def mean(numbers: Sequence[float]) -> float:
    """The mean; nothing has the mean 0."""
    return sum(numbers) / len(numbers) if numbers else 0.0


def row_bytes(widths: Sequence[int], *, nullable: bool) -> int:
    """Octets of a PostgreSQL row: line pointer, header, null bitmap, columns, aligned to eight.

    From PostgreSQL's documentation, 65.6 "Database Page Layout"; padding between columns is not
    counted, nor is what dead rows leave free.
    """
    header = 23 + (math.ceil(len(widths) / 8) if nullable else 0)
    return 4 + _aligned(header) + _aligned(sum(widths))


def index_bytes(widths: Sequence[int]) -> float:
    """Octets of one entry of a PostgreSQL B-tree, with the tenth of a leaf page that is left free."""
    return (4 + 8 + _aligned(sum(widths))) / 0.9


def _aligned(octets: int) -> int:
    return math.ceil(octets / 8) * 8
