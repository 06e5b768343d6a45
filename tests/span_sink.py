"""Exporters of spans as ``TRACE_EXPORTER`` names them: what they took is here."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from opentelemetry.context import get_value
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

#: What every sink of this process took, in order.
TAKEN: list[ReadableSpan] = []
#: Set, and no stalled sink waits any longer.
GO_ON = threading.Event()


class Sink(SpanExporter):
    """Takes everything; ``silenced`` is whether instrumentations were told to look away meanwhile."""

    silenced = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        Sink.silenced = bool(get_value("suppress_instrumentation"))
        TAKEN.extend(spans)
        return SpanExportResult.SUCCESS


class Away(SpanExporter):
    """Takes nothing, as if the collector could not be reached."""

    asked = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        Away.asked += 1
        return SpanExportResult.FAILURE


class Broken(SpanExporter):
    """Raises, with a text that repeats what it was given."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        raise RuntimeError("marked: the text of an exporter's own error")


class Stalled(SpanExporter):
    """Does not answer until :data:`GO_ON` is set."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        GO_ON.wait()
        return SpanExportResult.SUCCESS
