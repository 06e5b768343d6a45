"""Every metric with its labels, each from a closed set, so that the number of series is known."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass


class MetricKind(enum.StrEnum):
    """Prometheus's types, as far as they are used."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A label and all values that it can have; ``most`` is how many there are at the most."""

    name: str
    values: Callable[[], tuple[str, ...]]
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric; ``buckets`` are a histogram's finite bounds."""

    name: str
    kind: MetricKind
    help: str
    labels: tuple[Label, ...] = ()
    buckets: tuple[float, ...] = ()

    @property
    def label_sets(self) -> int:
        """The product of its labels' sizes."""
        return math.prod(label.most for label in self.labels)

    @property
    def series(self) -> int:
        """Time series at the most: of a histogram each bucket, the one without a bound, sum and count."""
        return self.label_sets * (len(self.buckets) + 3 if self.kind is MetricKind.HISTOGRAM else 1)


METRICS: tuple[Metric, ...] = ()
