"""What an intent is given on its way, so that all that follows is found in one trace."""

from __future__ import annotations

import time
import uuid
from typing import TypedDict

from resetdelivery.domain.spans import admission_ref
from resetdelivery.telemetry.traces.switch import is_on


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
    from resetdelivery.telemetry.traces.otel import current_span

    caller = current_span()
    ref = admission_ref(reference, trace_id=caller.trace_id if caller else None)
    return {
        "traceparent": ref.traceparent(),
        "trace_parent_span": caller.span_id if caller else "",
        "admission_seconds": time.monotonic() - began,
    }
