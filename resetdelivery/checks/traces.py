"""Where traces go."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from django.core.checks import CheckMessage, register

from notifications.hosts import is_loopback
from resetdelivery.checks.messages import TAG, error, settings_if_valid, warning
from resetdelivery.telemetry.traces.collector import make_exporter
from resetdelivery.telemetry.traces.switch import has_packages, is_disabled

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


@register(TAG)
def check_traces(**_: Any) -> list[CheckMessage]:
    """E115 to E117 and W115."""
    settings = settings_if_valid()
    if settings is None:
        return []
    found: list[CheckMessage] = []
    if settings.trace_exporter:
        found += _exporter_problems(settings.trace_exporter)
    if settings.trace_successes_per_mille > 1000:
        text = f"RESETDELIVERY['TRACE_SUCCESSES_PER_MILLE'] is {settings.trace_successes_per_mille}."
        found.append(error(117, text, "Set it to 1000 or less: 1000 keeps the trace of every reset."))
    return found


def _exporter_problems(path: str) -> Iterator[CheckMessage]:
    where = f"RESETDELIVERY['TRACE_EXPORTER'] is {path!r}"
    if not has_packages():
        text = f"{where}, but the packages of OpenTelemetry are not installed."
        yield error(115, text, "Install resetdelivery[tracing], or leave TRACE_EXPORTER out.")
        return
    if is_disabled():
        hint = "Leave OTEL_SDK_DISABLED out where traces are wanted, and TRACE_EXPORTER where not."
        yield warning(115, f"{where}, but OTEL_SDK_DISABLED is true: nothing is traced.", hint)
    try:
        make_exporter(path).shutdown()
    except Exception as cause:
        text = f"{where}, which makes no exporter of spans ({type(cause).__name__})."
        hint = (
            "Name a SpanExporter that needs no arguments, such as "
            "'opentelemetry.exporter.otlp.proto.http.trace_exporter.OTLPSpanExporter'."
        )
        yield error(116, text, hint)


@register(TAG, deploy=True)
def check_collector(**_: Any) -> list[CheckMessage]:
    """W116."""
    settings = settings_if_valid()
    if settings is None or not settings.trace_exporter:
        return []
    name = next((name for name in _ENDPOINTS if os.environ.get(name)), None)
    if name is None or not _is_open(os.environ[name]):
        return []
    text = f"{name} is another machine, and the connection to it is not encrypted."
    return [warning(116, text, "Begin it with 'https://', or run a collector on this machine.")]


def _is_open(endpoint: str) -> bool:
    try:
        parts = urlsplit(endpoint)
        host = parts.hostname
    except ValueError:
        return False
    return parts.scheme == "http" and host is not None and not is_loopback(host)
