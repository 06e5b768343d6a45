"""The exporter, as far as it may hold anybody up: a few seconds, and then nobody for a while."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from django.utils.module_loading import import_string

from resetdelivery.breaker import Breaker
from resetdelivery.conf import get_settings
from resetdelivery.domain.spans import Span
from resetdelivery.logs import get_logger

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

log = get_logger("resetdelivery.traces")

#: How long one export may take, whatever the exporter's own timeout and retries are.
EXPORT_SECONDS = 3.0
#: How long a collector that did not answer is left alone.
PAUSE_SECONDS = 30.0
#: How long a process that ends waits for what it has still to say.
EXIT_SECONDS = 2.0


class Collector:
    """The configured exporter behind a breaker; never raises."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self._breaker = Breaker(PAUSE_SECONDS)

    def send(self, spans: Sequence[Span]) -> bool:
        """Whether the exporter took all of ``spans``; ``False`` at once while it is left alone."""
        if not self._breaker.enter():
            return False
        if within(EXPORT_SECONDS, lambda: self._export(spans)):
            self._breaker.reset()
            return True
        self._breaker.trip()
        log.warning("traces_not_exported", count=len(spans))
        return False

    def _export(self, spans: Sequence[Span]) -> bool:
        from opentelemetry.context import attach, set_value
        from opentelemetry.sdk.trace.export import SpanExportResult

        from resetdelivery.telemetry.traces.otel import readable

        # In a thread of its own, so nothing to detach from. No spans of the export's own requests.
        attach(set_value("suppress_instrumentation", True))
        return self._exporter.export([readable(span) for span in spans]) is SpanExportResult.SUCCESS


def within(seconds: float, step: Callable[[], bool]) -> bool:
    """What ``step`` returns; ``False`` if it raises, or is not done in time.

    It then goes on by itself, in a thread that keeps no process from ending.
    """
    answers: list[bool] = []

    def run() -> None:
        try:
            answers.append(step())
        except Exception as error:
            # Its text may be the collector's own.
            log.warning("trace_failed", error_class=type(error).__name__)

    thread = threading.Thread(target=run, name="resetdelivery-traces", daemon=True)
    thread.start()
    thread.join(seconds)
    return bool(answers and answers[0])


def collector() -> Collector:
    """This process's collector."""
    return _collector(get_settings().trace_exporter, os.getpid())


@lru_cache(maxsize=1)
def _collector(path: str, _pid: int) -> Collector:
    return Collector(make_exporter(path))


def make_exporter(path: str) -> SpanExporter:
    """A new exporter, made without arguments: its own environment variables configure it.

    Raises what importing or making it raises, and ``TypeError`` if it is no exporter of spans.
    """
    from opentelemetry.sdk.trace.export import SpanExporter

    made = import_string(path)()
    if not isinstance(made, SpanExporter):
        raise TypeError(f"{path} makes a {type(made).__name__}, which is no SpanExporter.")
    return made


def forget() -> None:
    """Know nothing any more of a collector that was away: for tests."""
    _collector.cache_clear()


def queue_span(span: Span) -> None:
    """Leave ``span`` to be exported from another thread; dropped if too many wait."""
    from resetdelivery.telemetry.traces.otel import readable

    _processor(get_settings().trace_exporter, os.getpid()).on_end(readable(span))


def flush_queue() -> bool:
    """Export what :func:`queue_span` left, now; whether that was done in time."""
    processor = _processor(get_settings().trace_exporter, os.getpid())
    return within(EXIT_SECONDS, processor.force_flush)


@lru_cache(maxsize=1)
def _processor(path: str, _pid: int) -> BatchSpanProcessor:
    """By process: a thread and a connection do not survive a fork."""
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    processor = BatchSpanProcessor(make_exporter(path), schedule_delay_millis=1000)
    atexit.register(_flush_at_exit, processor, os.getpid())
    return processor


def _flush_at_exit(processor: BatchSpanProcessor, pid: int) -> None:
    if pid == os.getpid():
        within(EXIT_SECONDS, processor.force_flush)
