"""The checks of where traces go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks

from resetdelivery.checks import traces

Settings = Callable[..., None]
SINK = "tests.span_sink.Sink"


def found(*, deploy: bool = False) -> list[CheckMessage]:
    ours = {f"resetdelivery.{kind}{number}" for kind in "EW" for number in range(115, 120)}
    messages = run_checks(tags=["resetdelivery"], include_deployment_checks=deploy)
    return [message for message in messages if message.id in ours]


def ids(*, deploy: bool = False) -> list[str]:
    return [str(message.id).removeprefix("resetdelivery.") for message in found(deploy=deploy)]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, []),
        ({"TRACE_EXPORTER": SINK}, []),
        (
            {"TRACE_EXPORTER": "opentelemetry.exporter.otlp.proto.http.trace_exporter.OTLPSpanExporter"},
            [],
        ),
        ({"TRACE_EXPORTER": "tests.span_sink.Missing"}, ["E116"]),
        ({"TRACE_EXPORTER": "no_such_package.Exporter"}, ["E116"]),
        ({"TRACE_EXPORTER": "OTLPSpanExporter"}, ["E116"]),
        # Made without arguments, it makes something else.
        ({"TRACE_EXPORTER": "threading.Lock"}, ["E116"]),
        ({"TRACE_EXPORTER": "opentelemetry.sdk.trace.export.BatchSpanProcessor"}, ["E116"]),
        ({"TRACE_SUCCESSES_PER_MILLE": 1000}, []),
        ({"TRACE_SUCCESSES_PER_MILLE": 1001}, ["E117"]),
    ],
)
def test_what_traces_are_set_to_is_checked(
    change: Settings, changed: dict[str, Any], expected: list[str]
) -> None:
    change(**changed)
    assert ids() == expected


def test_missing_packages_are_named_and_nothing_is_imported(
    change: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces, "has_packages", lambda: False)
    monkeypatch.setattr(traces, "make_exporter", None)
    change(TRACE_EXPORTER=SINK)
    assert ids() == ["E115"]


def test_a_switch_that_is_off_is_named(change: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    change(TRACE_EXPORTER="")
    assert ids() == []
    change(TRACE_EXPORTER=SINK)
    assert ids() == ["W115"]


@pytest.mark.parametrize(
    ("name", "endpoint", "expected"),
    [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector.example:4318", ["W116"]),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://10.0.0.7:4318/v1/traces", ["W116"]),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector.example:4318", []),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318", []),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://[::1", []),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "", []),
    ],
)
def test_a_connection_that_is_not_encrypted_is_named_before_it_is_deployed(
    change: Settings, monkeypatch: pytest.MonkeyPatch, name: str, endpoint: str, expected: list[str]
) -> None:
    monkeypatch.setenv(name, endpoint)
    change(TRACE_EXPORTER=SINK)
    assert ids(deploy=True) == expected
    assert ids() == []


def test_where_nothing_is_traced_the_collector_is_not_looked_at(
    change: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector.example:4318")
    change(TRACE_EXPORTER="")
    assert ids(deploy=True) == []
