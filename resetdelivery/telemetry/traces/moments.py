"""Spans of what happens apart from an intent's own way: a sweep, a conflict of keys, a stale link.

Those of web processes are bounded per process and minute, and each next one says how many were left
out: whoever floods a page floods no collector.
"""

from __future__ import annotations

import datetime as dt
import secrets
import threading
import time
from collections.abc import Callable, Collection
from functools import partial

from resetdelivery.domain.spans import Attributes, Span, SpanField, SpanKind, SpanRef
from resetdelivery.logs import get_logger
from resetdelivery.models import ResetIntent
from resetdelivery.telemetry.traces.collector import collector, queue_span
from resetdelivery.telemetry.traces.switch import is_on

log = get_logger("resetdelivery.traces")

#: Spans of one kind and process in a minute.
PER_MINUTE = 60
#: Traces that the span of one sweep names.
LINKS = 100


class Ration:
    """So many in a minute, and how many there were beyond that."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._lock = threading.Lock()
        self._ends_at = 0.0
        self._taken = self._left_out = 0

    def take(self) -> int | None:
        """How many were left out since the last one that was not; ``None`` to leave this one out."""
        with self._lock:
            now = self._clock()
            if now >= self._ends_at:
                self._ends_at, self._taken = now + 60, 0
            if self._taken >= self._per_minute:
                self._left_out += 1
                return None
            self._taken += 1
            left_out, self._left_out = self._left_out, 0
            return left_out


_conflicts = Ration(PER_MINUTE)
_stale = Ration(PER_MINUTE)


def key_conflict(intent: ResetIntent) -> None:
    """An idempotency key came with another request than the one it led to: in that intent's trace."""
    _quietly(partial(_moment, "key_conflict", _conflicts, SpanRef.of(intent.traceparent)))


def stale_token() -> None:
    """A link did not work any more, or never did: in the trace of the page's own request, if it has one."""
    _quietly(partial(_moment, "stale_token", _stale))


def swept(*, intents: Collection[int], rows: int, seconds: float, using: str) -> None:
    """A sweep took ``rows`` back, of these ``intents``, in so many seconds: a trace of its own."""
    if rows:
        _quietly(partial(_sweep, intents, rows, seconds, using))


def _quietly(step: Callable[[], None]) -> None:
    """``step``, if traces are on; what goes wrong with a span must not stop what it tells of."""
    try:
        if is_on():
            step()
    except Exception as error:
        log.warning("trace_failed", error_class=type(error).__name__)


def _moment(name: str, ration: Ration, parent: SpanRef | None = None) -> None:
    left_out = ration.take()
    if left_out is None:
        return
    from resetdelivery.telemetry.traces.otel import current_span

    told: Attributes = {SpanField.LEFT_OUT: left_out} if left_out else {}
    queue_span(_span(name, told, parent=parent or current_span()))


def _sweep(intents: Collection[int], rows: int, seconds: float, using: str) -> None:
    traces = ResetIntent.objects.using(using).filter(pk__in=sorted(intents)[:LINKS])
    found = map(SpanRef.of, traces.order_by("pk").values_list("traceparent", flat=True))
    links = tuple(ref for ref in found if ref)
    collector().send([_span("sweep", {SpanField.ROWS: rows}, links=links, seconds=seconds)])


def _span(
    name: str,
    told: Attributes,
    *,
    parent: SpanRef | None = None,
    links: tuple[SpanRef, ...] = (),
    seconds: float = 0.0,
) -> Span:
    now = dt.datetime.now(dt.UTC)
    return Span(
        name=name,
        kind=SpanKind.INTERNAL,
        ref=SpanRef(
            trace_id=parent.trace_id if parent else secrets.token_hex(16), span_id=secrets.token_hex(8)
        ),
        parent_id=parent.span_id if parent else "",
        started_at=now - dt.timedelta(seconds=seconds),
        ended_at=now,
        attributes=told,
        trace_state="th:0",
        links=links,
    )
