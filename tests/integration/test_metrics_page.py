"""The page that Prometheus scrapes: who may read it, and what is on it."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from django.db import connection
from django.urls import Resolver404, resolve
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from resetdelivery.clock import database_now
from resetdelivery.domain.api_key import Scope
from resetdelivery.models import EventTotal, JobRun, OutcomeTotal, ProviderCircuit
from resetdelivery.services import request_reset
from resetdelivery.telemetry.metric_names import CIRCUIT_OPEN, LEASE_USED, METRICS, Metric, MetricKind
from resetdelivery.telemetry.metrics import scrape as scraping
from tests.brokers import Queue
from tests.integration.conftest import Settings
from tests.internal_api import Service, problem, service

pytestmark = pytest.mark.django_db

WHERE = "/internal/metrics"
Sample = tuple[str, tuple[tuple[str, str], ...]]


@pytest.fixture
def prometheus(db: None) -> Service:
    return service("prometheus", [Scope.HEALTH_READ])


def read(prometheus: Service) -> dict[Sample, float]:
    answer = prometheus.get(WHERE)
    assert answer.status_code == 200
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.get_data(as_text=True))
        for sample in family.samples
    }


def declared(metric: Metric) -> Iterator[Sample]:
    """Every sample that a metric can have with the values that its labels have now."""
    names = [label.name for label in metric.labels]
    for values in product(*(label.values() for label in metric.labels)):
        labels = list(zip(names, values, strict=True))
        if metric.kind is not MetricKind.HISTOGRAM:
            yield metric.name, tuple(sorted(labels))
            continue
        for bound in (*map(str, metric.buckets), "+Inf"):
            yield f"{metric.name}_bucket", tuple(sorted([*labels, ("le", bound)]))
        yield f"{metric.name}_count", tuple(sorted(labels))
        yield f"{metric.name}_sum", tuple(sorted(labels))


def test_with_nothing_stored_every_series_that_is_declared_is_there(
    prometheus: Service, queue: Queue
) -> None:
    assert set(read(prometheus)) == {sample for metric in METRICS for sample in declared(metric)}


def test_there_are_no_more_series_than_the_budget_was_told(prometheus: Service, queue: Queue) -> None:
    found = read(prometheus)
    for metric in METRICS:
        names = {metric.name, *(f"{metric.name}_{part}" for part in ("bucket", "count", "sum"))}
        assert 0 < sum(name in names for name, _ in found) <= metric.series


def test_what_happens_adds_no_series(prometheus: Service, queue: Queue, make_account: Any) -> None:
    before = set(read(prometheus))
    request_reset(account_ref=str(make_account().pk), channels=["email", "sms"])
    OutcomeTotal.objects.create(channel="email", outcome="accepted", template_version="9", attempts=1)
    EventTotal.objects.create(event="expired_usefully", channel="email", label="new", count=1)
    EventTotal.objects.create(event="receipt", channel="email", label="new", count=1)
    JobRun.objects.create(name="new", succeeded_at=database_now(connection), took_seconds=1)
    ProviderCircuit.objects.create(channel="email", provider="gone", open_until=database_now(connection))
    assert set(read(prometheus)) == before


def test_each_bucket_counts_what_lies_at_its_bound_or_below(prometheus: Service) -> None:
    counts = {"lease_used_counts": [4, 0, 3, 0, 0, 2, 1], "lease_used_ratio": 3.75}
    OutcomeTotal.objects.create(
        channel="sms", outcome="transient", template_version="1", attempts=10, **counts
    )
    of_sms: dict[tuple[str, str | None], float] = {
        (name.removeprefix(LEASE_USED.name), dict(labels).get("le")): value
        for (name, labels), value in read(prometheus).items()
        if name.startswith(LEASE_USED.name) and ("channel", "sms") in labels
    }
    bounds = ["0.1", "0.25", "0.5", "0.75", "0.9", "1.0", "+Inf"]
    expected = {("_bucket", bound): at for bound, at in zip(bounds, [4, 4, 7, 7, 7, 9, 10], strict=True)}
    assert {part: of_sms.pop((part, None)) for part in ("_count", "_sum")} == {"_count": 10, "_sum": 3.75}
    assert of_sms == expected


def test_a_channel_has_only_the_circuits_of_its_own_providers(prometheus: Service, change: Settings) -> None:
    one, two = ({"NAME": name, "TRANSPORT": "tests.transports.email"} for name in ("one", "two"))
    change(CHANNELS={"email": {"PROVIDERS": [one, two]}, "sms": {"PROVIDERS": [two]}})
    found = {labels for name, labels in read(prometheus) if name == CIRCUIT_OPEN.name}
    assert found == {
        (("channel", channel), ("provider", provider))
        for channel, provider in [("email", "one"), ("email", "two"), ("sms", "two")]
    }


def test_more_providers_than_there_is_room_for_add_no_series(prometheus: Service, change: Settings) -> None:
    listed = [{"NAME": f"p{number}", "TRANSPORT": "tests.transports.email"} for number in range(9)]
    change(CHANNELS={channel: {"PROVIDERS": listed} for channel in ("email", "sms")})
    found = [labels for name, labels in read(prometheus) if name == CIRCUIT_OPEN.name]
    assert len(found) == CIRCUIT_OPEN.series
    assert ("provider", "p8") not in {pair for labels in found for pair in labels}


def test_the_answer_is_prometheuss_text_and_no_cache_keeps_it(prometheus: Service) -> None:
    answer = prometheus.get(WHERE)
    assert answer.content_type == "text/plain; version=0.0.4; charset=utf-8"
    assert answer.headers["Cache-Control"] == "no-store"


def test_each_metric_has_its_type_and_its_help(prometheus: Service, queue: Queue) -> None:
    text = prometheus.get(WHERE).get_data(as_text=True)
    for metric in METRICS:
        assert f"# TYPE {metric.name} {metric.kind}\n" in text
        assert f"# HELP {metric.name} {metric.help}\n" in text


@pytest.mark.parametrize("scope", sorted(set(Scope) - {Scope.HEALTH_READ}))
def test_a_key_for_something_else_does_not_open_it(db: None, scope: Scope) -> None:
    assert problem(service(scopes=[scope]).get(WHERE)) == "missing-scope"


def test_nobody_reads_it_without_a_key(db: None) -> None:
    answer = Service().get(WHERE)
    assert (answer.status_code, problem(answer)) == (401, "unauthorized")


def test_prometheus_may_write_the_scheme_as_it_is_set(prometheus: Service) -> None:
    answer = Service().call("GET", WHERE, headers=[("Authorization", f"bearer {prometheus.key}")])
    assert answer.status_code == 200


def test_the_public_pages_have_no_such_address() -> None:
    with pytest.raises(Resolver404):
        resolve(WHERE, urlconf="config.urls")


def test_without_prometheuss_library_the_answer_says_what_to_install(
    prometheus: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == "prometheus_client":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return plain(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, "resetdelivery.telemetry.metrics.collector", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    answer = prometheus.get(WHERE)
    assert (answer.status_code, problem(answer)) == (501, "not-installed")
    assert "resetdelivery[metrics]" in answer.get_json(force=True)["detail"]


def test_another_module_that_is_missing_is_an_error_of_ours(
    prometheus: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "resetdelivery.telemetry.metrics.samples", None)
    monkeypatch.delitem(sys.modules, "resetdelivery.telemetry.metrics.collector", raising=False)
    assert prometheus.get(WHERE).status_code == 500


def test_the_librarys_own_registry_gets_nothing_from_us(prometheus: Service) -> None:
    read(prometheus)
    assert not any(family.name.startswith("resetdelivery") for family in REGISTRY.collect())


def test_describing_the_metrics_reads_nothing(
    monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    from resetdelivery.telemetry.metrics.collector import DatabaseCollector

    monkeypatch.setattr(scraping, "scrape", lambda: pytest.fail("something was read"))
    with django_assert_num_queries(0):
        families = list(DatabaseCollector().describe())
    assert len(families) == len(METRICS)
    assert not any(family.samples for family in families)
