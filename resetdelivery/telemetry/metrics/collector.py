"""A scrape in Prometheus's own words. Needs the extra ``metrics``; nothing else imports its library."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any, cast

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from resetdelivery.telemetry.metric_names import METRICS, Metric, MetricKind
from resetdelivery.telemetry.metrics.counters import Buckets
from resetdelivery.telemetry.metrics.samples import Values, samples
from resetdelivery.telemetry.metrics.scrape import scrape


class DatabaseCollector(Collector):
    """Reads the database at each scrape, and not before: it describes itself without."""

    def describe(self) -> Iterator[Family]:
        """Every metric, empty."""
        return (_family(metric, {}) for metric in METRICS)

    def collect(self) -> Iterator[Family]:
        """Every metric with what it stands at; those of which nothing is known are left out."""
        found = samples(scrape())
        return (_family(metric, found[metric]) for metric in METRICS if metric in found)


def page() -> bytes:
    """All metrics in Prometheus's text format, version 0.0.4."""
    registry = CollectorRegistry()
    registry.register(DatabaseCollector())
    return generate_latest(registry)


_FAMILIES = {
    MetricKind.COUNTER: CounterMetricFamily,
    MetricKind.GAUGE: GaugeMetricFamily,
    MetricKind.HISTOGRAM: HistogramMetricFamily,
}


def _family(metric: Metric, values: Values) -> Family:
    family: Any = _FAMILIES[metric.kind](metric.name, metric.help, labels=[one.name for one in metric.labels])
    for labels, value in values.items():
        if isinstance(value, Buckets):
            family.add_metric(labels, buckets=_cumulative(metric, value), sum_value=value.total)
        else:
            family.add_metric(labels, value)
    return cast("Family", family)


def _cumulative(metric: Metric, value: Buckets) -> list[tuple[str, float]]:
    """Each bound with how many lie at it or below."""
    bounds = [*map(floatToGoString, metric.buckets), "+Inf"]
    return list(zip(bounds, accumulate(value.counts), strict=True))
