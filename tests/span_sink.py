"""Exporters of spans as ``TRACE_EXPORTER`` names them: what they took is here."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from opentelemetry.context import get_value
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

#: What every sink of this process took, in order.
TAKEN: list[ReadableSpan] = []
#: The ids of traces that a picky sink does not take.
UNWANTED: set[int] = set()
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

    asked = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        Stalled.asked += 1
        GO_ON.wait()
        return SpanExportResult.SUCCESS


class Picky(Sink):
    """Takes nothing in which a trace of :data:`UNWANTED` is."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return self.refuse() if has_unwanted(spans) else super().export(spans)

    def refuse(self) -> SpanExportResult:
        """What it does then."""
        return SpanExportResult.FAILURE


class Stuck(Picky):
    """Does not answer then, until :data:`GO_ON` is set."""

    def refuse(self) -> SpanExportResult:
        GO_ON.wait()
        return SpanExportResult.FAILURE


def has_unwanted(spans: Sequence[ReadableSpan]) -> bool:
    """Whether one of ``spans`` is of such a trace."""
    return any(span.context is not None and span.context.trace_id in UNWANTED for span in spans)
