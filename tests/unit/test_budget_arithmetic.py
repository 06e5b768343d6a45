from __future__ import annotations

from dataclasses import replace

import pytest

from resetdelivery.domain.budget import (
    Ceiling,
    Volume,
    index_bytes,
    mean,
    row_bytes,
    saved_by_dropping,
    saved_by_sampling,
)
from resetdelivery.telemetry.budget.series import metric_costs
from resetdelivery.telemetry.metric_names import Label, Metric, MetricKind


@pytest.mark.parametrize(
    ("volume", "bytes_each", "kept"),
    [
        # A million lines of 250 octets for thirty days are 7.5 GB.
        (Volume(per_day=1_000_000, days=30), 250, 7.5e9),
        (Volume(per_day=1_000_000, days=30, copies=3), 250, 22.5e9),
        (Volume(per_day=1_000_000, days=30, copies=2, index_factor=1.2), 250, 18e9),
        (Volume(per_day=0, days=30), 250, 0),
        (Volume(per_day=10, days=0), 250, 0),
        (Volume(per_day=24, days=1 / 24), 10, 10),
    ],
)
def test_what_is_kept_is_the_product_of_everything(volume: Volume, bytes_each: float, kept: float) -> None:
    assert volume.kept_bytes(bytes_each) == pytest.approx(kept)


@pytest.mark.parametrize(
    ("used", "most", "is_over", "share"),
    [(0, 10, False, 0.0), (10, 10, False, 1.0), (11, 10, True, 1.1), (5, 10, False, 0.5)],
)
def test_a_ceiling_is_passed_above_it_and_not_at_it(
    used: float, most: float, is_over: bool, share: float
) -> None:
    ceiling = Ceiling(setting="MAX_SERIES", what="series", used=used, most=most)
    assert ceiling.is_over is is_over
    assert ceiling.share == pytest.approx(share)


@pytest.mark.parametrize(
    ("series", "sizes", "saved"),
    [
        (56, {"channel": 2, "outcome": 7, "version": 4}, {"channel": 28, "outcome": 48, "version": 42}),
        # A histogram's buckets stay.
        (32, {"channel": 2}, {"channel": 16}),
        (1, {}, {}),
        (4, {"only": 1, "other": 4}, {"only": 0, "other": 3}),
    ],
)
def test_without_a_label_its_values_fold_into_one(
    series: int, sizes: dict[str, int], saved: dict[str, int]
) -> None:
    assert saved_by_dropping(series, sizes) == saved


def test_one_in_ten_saves_nine_tenths() -> None:
    assert saved_by_sampling(1000) == pytest.approx(900)
    assert saved_by_sampling(1000, 0.5) == pytest.approx(500)


@pytest.mark.parametrize(("numbers", "found"), [([], 0.0), ([4], 4.0), ([1, 2, 6], 3.0)])
def test_the_mean_of_nothing_is_nothing(numbers: list[float], found: float) -> None:
    assert mean(numbers) == found


@pytest.mark.parametrize(
    ("widths", "nullable", "octets"),
    [
        # A header of 23 octets fills 24, and a line pointer of 4 leads to it.
        ([8], False, 4 + 24 + 8),
        ([8, 1], False, 4 + 24 + 16),
        # A null bitmap of one octet fits into the 24; one of two does not.
        ([8] * 8, True, 4 + 24 + 64),
        ([8] * 9, True, 4 + 32 + 72),
    ],
)
def test_a_row_is_its_header_and_its_columns_aligned(widths: list[int], nullable: bool, octets: int) -> None:
    assert row_bytes(widths, nullable=nullable) == octets


def test_an_index_entry_is_its_key_and_a_tenth_more() -> None:
    assert index_bytes([8]) == pytest.approx(20 / 0.9)
    assert index_bytes([16, 1]) == pytest.approx(36 / 0.9)


CHANNEL = Label(name="channel", values=lambda: ("email", "sms"), most=2)
COUNTER = Metric(name="any_total", kind=MetricKind.COUNTER, help="Any.", labels=(CHANNEL,))
HISTOGRAM = Metric(
    name="any_seconds", kind=MetricKind.HISTOGRAM, help="Any.", labels=(CHANNEL,), buckets=(0.1, 1, 10)
)


@pytest.mark.parametrize("metric", [COUNTER, HISTOGRAM], ids=["counter", "histogram"])
@pytest.mark.parametrize("values", [1, 2, 9])
def test_a_label_with_n_values_makes_n_times_the_series(metric: Metric, values: int) -> None:
    added = Label(name="added", values=tuple, most=values)
    before, after = metric_costs([metric])[0], metric_costs([replace(metric, labels=(CHANNEL, added))])[0]
    assert after.series == values * before.series
    assert after.saved["added"] == after.series - before.series


def test_a_histogram_has_a_series_for_each_bucket_and_three_more() -> None:
    assert metric_costs([HISTOGRAM])[0].series == 2 * (3 + 3)


def test_the_dearest_metric_comes_first() -> None:
    assert [cost.name for cost in metric_costs([COUNTER, HISTOGRAM])] == ["any_seconds", "any_total"]
