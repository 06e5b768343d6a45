"""Names and labels as Prometheus wants them, and as many series as are declared."""

from __future__ import annotations

import re
from typing import Any

import pytest

from notifications.outcome import OutcomeKind
from resetdelivery.telemetry.metric_labels import (
    MOST_PROVIDERS,
    MOST_VERSIONS,
    ONLY,
    RETIRED,
    label_providers,
    label_versions,
)
from resetdelivery.telemetry.metric_names import (
    ATTEMPTS,
    METRICS,
    PREFIX,
    QUEUE_DELAY,
    SCRAPE_SUCCESS,
    Metric,
    MetricKind,
)

# Prometheus data model, and its page on naming.
NAME = re.compile(r"[a-z]+(_[a-z]+)*")
#: What names a metric's unit, of those that are base units.
UNITS = ("seconds", "ratio")
SCALED = ("milliseconds", "minutes", "percent", "kilobytes")
#: Labels that the text format or Prometheus itself uses.
TAKEN = {"le", "quantile", "job", "instance"}

each_metric = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)


@each_metric
def test_a_name_is_ours_and_in_base_units(metric: Metric) -> None:
    assert metric.name.startswith(PREFIX)
    assert NAME.fullmatch(metric.name)
    assert not any(unit in metric.name for unit in SCALED)


@each_metric
def test_only_counters_end_as_counters_do(metric: Metric) -> None:
    assert metric.name.endswith("_total") is (metric.kind is MetricKind.COUNTER)
    assert not metric.name.endswith(("_count", "_sum", "_bucket", "_info", "_created"))


@each_metric
def test_only_histograms_have_buckets_and_a_unit(metric: Metric) -> None:
    if metric.kind is MetricKind.HISTOGRAM:
        assert metric.name.endswith(UNITS)
        assert list(metric.buckets) == sorted(set(metric.buckets))
    else:
        assert metric.buckets == ()


@each_metric
def test_each_says_in_one_line_what_it_is(metric: Metric) -> None:
    assert metric.help.endswith(".")
    assert "\n" not in metric.help


@each_metric
def test_a_label_never_has_more_values_than_it_says(metric: Metric) -> None:
    for label in metric.labels:
        values = label.values()
        assert 0 < len(set(values)) == len(values) <= label.most
        assert all(values)


def test_no_two_metrics_have_one_name() -> None:
    assert len({metric.name for metric in METRICS}) == len(METRICS)


def test_no_label_has_the_name_of_one_of_prometheuss_own() -> None:
    names = {label.name for metric in METRICS for label in metric.labels}
    assert names.isdisjoint(TAKEN)


def test_a_metrics_series_are_the_product_of_its_labels() -> None:
    assert ATTEMPTS.series == 2 * len(OutcomeKind) * MOST_VERSIONS


def test_a_histogram_has_a_series_for_each_bound_one_above_them_a_sum_and_a_count() -> None:
    assert QUEUE_DELAY.series == 2 * (len(QUEUE_DELAY.buckets) + 3)


def test_without_labels_there_is_one_series() -> None:
    assert SCRAPE_SUCCESS.series == 1


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ("1",)),
        ({"TEMPLATE_VERSION": "2"}, ("2", "1")),
        ({"TEMPLATE_VERSION": "2", "NOTICE_TEMPLATE_VERSION": "3"}, ("2", "3")),
        ({"MEASURED_VERSIONS": ["0", "1"]}, ("1", "0")),
        # Not its own: it is what all others are told as.
        ({"MEASURED_VERSIONS": [RETIRED]}, ("1",)),
        # More than there is room for: the last ones are retired.
        ({"MEASURED_VERSIONS": ["a", "b", "c", "d"]}, ("1", "a", "b", "c")),
    ],
)
def test_versions_of_new_resets_come_first_and_the_rest_is_retired(
    settings: Any, changes: dict[str, Any], expected: tuple[str, ...]
) -> None:
    settings.RESETDELIVERY = {**settings.RESETDELIVERY, **changes}
    assert label_versions() == (*expected, RETIRED)


def providers(*names: str) -> list[dict[str, str]]:
    return [{"NAME": name, "TRANSPORT": "tests.transports.email"} for name in names]


@pytest.mark.parametrize(
    ("email", "sms", "expected"),
    [
        ({"TRANSPORT": "tests.transports.email"}, {"TRANSPORT": "tests.transports.sms"}, (ONLY,)),
        ({"PROVIDERS": providers("b", "a")}, {"PROVIDERS": providers("a", "c")}, ("a", "b", "c")),
        ({"PROVIDERS": providers("b", "a")}, {"TRANSPORT": "tests.transports.sms"}, ("a", "b", ONLY)),
        (
            {"PROVIDERS": providers(*"abcdefghij")},
            {"PROVIDERS": providers("a")},
            tuple("abcdefgh"[:MOST_PROVIDERS]),
        ),
    ],
)
def test_providers_have_the_names_that_settings_give_them(
    settings: Any, email: dict[str, Any], sms: dict[str, Any], expected: tuple[str, ...]
) -> None:
    settings.RESETDELIVERY = {**settings.RESETDELIVERY, "CHANNELS": {"email": email, "sms": sms}}
    assert label_providers() == expected
