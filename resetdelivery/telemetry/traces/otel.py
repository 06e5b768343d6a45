"""Our spans as OpenTelemetry's; imported only where traces are on, as its packages are optional."""

from __future__ import annotations

import datetime as dt
from functools import lru_cache

from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags, get_current_span
from opentelemetry.trace.span import TraceState, format_span_id, format_trace_id

from resetdelivery.domain import spans
from resetdelivery.domain.spans import SpanRef

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
_SCOPE = InstrumentationScope("resetdelivery")
_KINDS = {
    spans.SpanKind.INTERNAL: SpanKind.INTERNAL,
    spans.SpanKind.PRODUCER: SpanKind.PRODUCER,
    spans.SpanKind.CONSUMER: SpanKind.CONSUMER,
    spans.SpanKind.CLIENT: SpanKind.CLIENT,
}


def readable(span: spans.Span) -> ReadableSpan:
    """``span`` as exporters take it.

    Made directly and by no tracer: its ids, times and sampling are decided already, and the
    environment's samplers and limits, which are for code that runs now, have no say in it.
    """
    trace_id = span.ref.trace_id
    parent = _context(SpanRef(trace_id=trace_id, span_id=span.parent_id)) if span.parent_id else None
    return ReadableSpan(
        name=span.name,
        context=_context(span.ref, span.trace_state),
        parent=parent,
        resource=resource(),
        attributes={name.value: value for name, value in span.attributes.items()},
        links=[Link(_context(ref)) for ref in span.links],
        kind=_KINDS[span.kind],
        status=Status(StatusCode.ERROR if span.is_error else StatusCode.UNSET),
        start_time=_nanoseconds(span.started_at),
        end_time=_nanoseconds(span.ended_at),
        instrumentation_scope=_SCOPE,
    )


def current_span() -> SpanRef | None:
    """The span that the host's own tracing has opened around the caller, if there is one."""
    context = get_current_span().get_span_context()
    if not context.is_valid:
        return None
    return SpanRef(trace_id=format_trace_id(context.trace_id), span_id=format_span_id(context.span_id))


@lru_cache(maxsize=1)
def resource() -> Resource:
    """Who says all this: ``OTEL_SERVICE_NAME`` and the environment's other words, else ``resetdelivery``."""
    found = Resource.create()
    # The SDK's own stand-in; the specification prescribes its beginning.
    if str(found.attributes.get(SERVICE_NAME, "")).startswith("unknown_service"):
        return found.merge(Resource({SERVICE_NAME: "resetdelivery"}))
    return found


def _context(ref: SpanRef, trace_state: str = "") -> SpanContext:
    return SpanContext(
        trace_id=int(ref.trace_id, 16),
        span_id=int(ref.span_id, 16),
        is_remote=False,
        trace_flags=TraceFlags(TraceFlags.SAMPLED),
        trace_state=TraceState([("ot", trace_state)]) if trace_state else None,
    )


def _nanoseconds(moment: dt.datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND * 1000
