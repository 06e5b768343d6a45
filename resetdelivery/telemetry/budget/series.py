"""What metrics cost: the product of each one's labels, and what is saved without one of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from resetdelivery.domain.budget import saved_by_dropping
from resetdelivery.telemetry.metric_names import Metric


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricCost:
    """One metric: how many values each label has at the most, and how many series that makes.

    ``saved`` is how many series there would be less without each label.
    """

    name: str
    kind: str
    labels: Mapping[str, int]
    buckets: int
    series: int
    saved: Mapping[str, int]


def metric_costs(metrics: Iterable[Metric]) -> tuple[MetricCost, ...]:
    """The costs of ``metrics``, the dearest first."""
    return tuple(sorted(map(_cost, metrics), key=lambda cost: (-cost.series, cost.name)))


def _cost(metric: Metric) -> MetricCost:
    sizes = {label.name: label.most for label in metric.labels}
    return MetricCost(
        name=metric.name,
        kind=metric.kind.value,
        labels=sizes,
        buckets=len(metric.buckets),
        series=metric.series,
        saved=saved_by_dropping(metric.series, sizes),
    )
