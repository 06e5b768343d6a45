"""Traces of resets for OpenTelemetry: made from rows at the end, so that none is lost on the way.

Nothing happens, and no package of OpenTelemetry's is imported, unless ``TRACE_EXPORTER`` names an
exporter of spans.
"""

from __future__ import annotations

from resetdelivery.telemetry.traces.admission import admission_context
from resetdelivery.telemetry.traces.encoded import EncodedSample, encoded_sample
from resetdelivery.telemetry.traces.exporting import Exported, export_again, export_closed
from resetdelivery.telemetry.traces.moments import key_conflict, stale_token, swept
from resetdelivery.telemetry.traces.switch import is_on

__all__ = [
    "EncodedSample",
    "Exported",
    "admission_context",
    "encoded_sample",
    "export_again",
    "export_closed",
    "is_on",
    "key_conflict",
    "stale_token",
    "swept",
]
