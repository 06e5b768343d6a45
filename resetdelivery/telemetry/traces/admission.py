"""What an intent is given on its way, so that all that follows is found in one trace."""

from __future__ import annotations

import time
import uuid
from typing import TypedDict

from resetdelivery.domain.spans import SpanRef, admission_ref
from resetdelivery.logs import get_logger
from resetdelivery.telemetry.traces.switch import is_on

log = get_logger("resetdelivery.traces")


class AdmissionContext(TypedDict, total=False):
    """Columns of a new intent; none of them while traces are off."""

    traceparent: str
    trace_parent_span: str
    admission_seconds: float


def admission_context(reference: uuid.UUID, *, began: float) -> AdmissionContext:
    """The trace that the intent with this ``reference`` is stored with.

    It joins the trace that the host's own instrumentation has opened around the request, and begins
    one otherwise. A ``traceparent`` header is never read here: whether a caller is to be believed is
    that instrumentation's matter. ``began`` is ``time.monotonic()`` as the admission began.
    """
    if not is_on():
        return {}
    caller = _caller()
    ref = admission_ref(reference, trace_id=caller.trace_id if caller else None)
    return {
        "traceparent": ref.traceparent(),
        "trace_parent_span": caller.span_id if caller else "",
        "admission_seconds": time.monotonic() - began,
    }


def _caller() -> SpanRef | None:
    """The host's span; none as well if it cannot be asked for: no trace is worth an admission."""
    try:
        from resetdelivery.telemetry.traces.otel import current_span

        return current_span()
    except Exception as error:
        log.warning("trace_failed", error_class=type(error).__name__)
        return None
