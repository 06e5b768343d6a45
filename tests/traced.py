"""Resets that are traced, and what is looked at in their spans."""

from __future__ import annotations

from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from resetdelivery.models import ResetIntent
from resetdelivery.services import request_reset
from tests import span_sink

#: A span that a host's own instrumentation may have opened.
TRACE_ID, SPAN_ID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def ask(account: Any, *channels: str, **options: Any) -> ResetIntent:
    """Ask for a reset by email, unless told otherwise."""
    admission = request_reset(account_ref=str(account.pk), channels=list(channels) or ["email"], **options)
    return ResetIntent.objects.get(reference=admission.reference)


def taken() -> dict[str, list[ReadableSpan]]:
    """What was exported, by its spans' names."""
    found: dict[str, list[ReadableSpan]] = {}
    for span in span_sink.TAKEN:
        found.setdefault(span.name, []).append(span)
    return found


def trace_id(span: ReadableSpan) -> str:
    """Its trace's id in hex."""
    assert span.context
    return f"{span.context.trace_id:032x}"


def exported_ids() -> set[str]:
    """The ids in hex of the traces of which anything was exported."""
    return {trace_id(span) for span in span_sink.TAKEN}


def parent_id(span: ReadableSpan) -> str:
    """Its parent's id in hex; empty if it has none."""
    return f"{span.parent.span_id:016x}" if span.parent else ""


def told(span: ReadableSpan, name: str) -> Any:
    """One of our own attributes."""
    return (span.attributes or {}).get(f"resetdelivery.{name}")


def hosts_span() -> NonRecordingSpan:
    """The span of a request, as the instrumentation of Django opens one."""
    flags = TraceFlags(TraceFlags.SAMPLED)
    return NonRecordingSpan(
        SpanContext(trace_id=int(TRACE_ID, 16), span_id=int(SPAN_ID, 16), is_remote=False, trace_flags=flags)
    )
