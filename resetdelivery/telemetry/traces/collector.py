"""The exporter, as far as it may hold anybody up: a few seconds, and then nobody for a while."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
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
        self._last: Step | None = None
        self._has_failed = False

    def send(self, spans: Sequence[Span]) -> bool:
        """Whether the exporter took all of ``spans``; ``False`` at once while it is left alone."""
        return bool(self.send_traces({0: spans}))

    def send_traces(self, traces: Mapping[int, Sequence[Span]]) -> dict[int, bool]:
        """Whether the exporter took each of ``traces``, by their keys; empty if it took none.

        One that it does not take must not hold up the others: where all of them together are refused,
        or were the last time, they are sent one by one. What there was no time for is not in the answer.
        """
        if self._is_held_up() or not self._breaker.enter():
            return {}
        alone = self._has_failed or len(traces) == 1
        answers = self._one_by_one(traces) if alone else self._together(traces) or self._one_by_one(traces)
        not_taken = len(traces) - sum(answers.values())
        if not_taken:
            log.warning("traces_not_exported", count=not_taken)
        self._has_failed = not any(answers.values())
        if self._has_failed:
            # Nothing tells a collector that is away from traces that are bad.
            self._breaker.trip()
            return {}
        self._breaker.reset()
        return answers

    def _is_held_up(self) -> bool:
        """Whether the exporter never came back from what it was last given: one thread waits, not more."""
        return self._last is not None and self._last.is_alive()

    def _together(self, traces: Mapping[int, Sequence[Span]]) -> dict[int, bool]:
        spans = [span for trace in traces.values() for span in trace]
        return dict.fromkeys(traces, True) if self._try(spans, EXPORT_SECONDS) else {}

    def _one_by_one(self, traces: Mapping[int, Sequence[Span]]) -> dict[int, bool]:
        """The newest first: what is never taken gathers among the oldest."""
        stop_at = time.monotonic() + EXPORT_SECONDS
        answers: dict[int, bool] = {}
        for key, spans in reversed(list(traces.items())):
            seconds = stop_at - time.monotonic()
            answer = None if seconds <= 0 or self._is_held_up() else self._try(spans, seconds)
            if answer is None:
                break
            answers[key] = answer
        return answers

    def _try(self, spans: Sequence[Span], seconds: float) -> bool | None:
        step = Step(lambda: self._export(spans))
        answer = step.within(seconds)
        if answer is None:
            self._last = step
        return answer

    def _export(self, spans: Sequence[Span]) -> bool:
        from opentelemetry.context import attach, set_value
        from opentelemetry.sdk.trace.export import SpanExportResult

        from resetdelivery.telemetry.traces.otel import readable

        # In a thread of its own, so nothing to detach from. No spans of the export's own requests.
        attach(set_value("suppress_instrumentation", True))
        return self._exporter.export([readable(span) for span in spans]) is SpanExportResult.SUCCESS


class Step(threading.Thread):
    """``step`` in a thread that keeps no process from ending."""

    def __init__(self, step: Callable[[], bool]) -> None:
        super().__init__(name="resetdelivery-traces", daemon=True)
        self._step = step
        self._answer: bool | None = None

    def run(self) -> None:
        """What the thread does."""
        try:
            self._answer = self._step()
        except Exception as error:
            # Its text may be the collector's own.
            log.warning("trace_failed", error_class=type(error).__name__)
            self._answer = False

    def within(self, seconds: float) -> bool | None:
        """What the step returned, ``False`` if it raised; ``None`` if it is not done in time, or not begun.

        It then goes on by itself.
        """
        try:
            self.start()
        except RuntimeError as error:
            # No more threads: too many, or the interpreter is about to end.
            log.warning("trace_failed", error_class=type(error).__name__)
            return None
        self.join(seconds)
        return self._answer


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
    return bool(Step(processor.force_flush).within(EXIT_SECONDS))


@lru_cache(maxsize=1)
def _processor(path: str, _pid: int) -> BatchSpanProcessor:
    """By process: a thread and a connection do not survive a fork."""
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    processor = BatchSpanProcessor(make_exporter(path), schedule_delay_millis=1000)
    leaving = threading.Event()
    flush = Step(lambda: leaving.wait() and processor.force_flush())
    # Now: from Python 3.12 on, no thread begins once the interpreter ends.
    flush.start()
    atexit.register(_flush_at_exit, leaving, flush, os.getpid())
    return processor


def _flush_at_exit(leaving: threading.Event, flush: Step, pid: int) -> None:
    if pid == os.getpid():
        leaving.set()
        flush.join(EXIT_SECONDS)
