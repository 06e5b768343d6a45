"""How many octets a trace takes on its way, measured by encoding some: for the budget."""

from __future__ import annotations

import datetime as dt
import gzip
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from resetdelivery.domain.spans import Span, admission_ref, spans_of
from resetdelivery.domain.trace_sampling import KeptFor, Sampled
from resetdelivery.domain.traced import TracedAttempt, TracedDelivery, TracedIntent
from resetdelivery.telemetry.traces.switch import has_packages

#: Traces in one export.
_BATCH = 100
_START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
_SAMPLED = Sampled(reasons=(KeptFor.SAMPLED,), probability=0.05, trace_state="th:f3333333333334")
_FOR_EVERY_REASON = Sampled(
    reasons=tuple(reason for reason in KeptFor if reason is not KeptFor.SAMPLED),
    probability=1.0,
    trace_state="th:0",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedSample:
    """Traces in OTLP's protobuf: a usual one has so many ``spans`` and octets, alone.

    ``worst_bytes`` is one with two channels, six attempts each, and the longest words;
    ``batch_bytes`` is a usual one's share of an export of a hundred, ``batch_gzip_bytes`` of the same
    compressed.
    """

    spans: int
    worst_spans: int
    typical_bytes: int
    worst_bytes: int
    batch_bytes: float
    batch_gzip_bytes: float


def encoded_sample() -> EncodedSample | None:
    """The measured sizes; ``None`` without the packages of the extra ``tracing``."""
    if not has_packages():
        return None
    try:
        return _measured()
    except ModuleNotFoundError:
        # The SDK is there without the exporter for OTLP, as where another exporter is used.
        return None


def _measured() -> EncodedSample:
    typical, worst = spans_of(_typical(0), _SAMPLED), spans_of(_worst(), _FOR_EVERY_REASON)
    batch = _octets([span for number in range(_BATCH) for span in spans_of(_typical(number), _SAMPLED)])
    return EncodedSample(
        spans=len(typical),
        worst_spans=len(worst),
        typical_bytes=len(_octets(typical)),
        worst_bytes=len(_octets(worst)),
        batch_bytes=len(batch) / _BATCH,
        batch_gzip_bytes=len(gzip.compress(batch)) / _BATCH,
    )


def _octets(spans: Sequence[Span]) -> bytes:
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    from resetdelivery.telemetry.traces.otel import readable

    return bytes(encode_spans([readable(span) for span in spans]).SerializeToString())


def _typical(number: int) -> TracedIntent:
    """An accepted email; ids, times and durations differ from one ``number`` to the next."""
    reference = uuid.uuid5(uuid.NAMESPACE_OID, str(number))
    spread = reference.int % 1_000_000
    created_at = _START + dt.timedelta(seconds=number, microseconds=spread)
    started_at = created_at + dt.timedelta(microseconds=40_000 + spread // 7)
    attempt = TracedAttempt(
        number=1,
        outcome="accepted",
        reason="ok",
        claimed_at=started_at - dt.timedelta(microseconds=4_000 + spread // 90),
        started_at=started_at,
        finished_at=started_at + dt.timedelta(microseconds=150_000 + spread // 3),
        queue_delay_seconds=(started_at - created_at).total_seconds(),
        remaining_seconds=600 - spread / 7_000_000,
        duration_seconds=0.15 + spread / 3_100_000,
    )
    delivery = TracedDelivery(
        channel="email",
        authority="pipeline",
        state="accepted",
        reason="ok",
        claims=1,
        attempts_counted=1,
        due_at=created_at,
        finished_at=started_at + dt.timedelta(seconds=1),
        attempts=(attempt,),
    )
    return TracedIntent(
        reference=reference,
        traceparent=admission_ref(reference).traceparent(),
        kind="reset",
        strategy="all",
        template_version="1",
        created_at=created_at,
        admission_seconds=0.0123,
        deliveries=(delivery,),
    )


def _worst() -> TracedIntent:
    """Two channels of which nothing worked, with the longest word everywhere."""
    usual = _typical(0)
    (delivery,) = usual.deliveries
    tried = replace(
        delivery.attempts[0],
        outcome="misconfigured",
        reason="disconnected_before_submit",
        late_outcome="misconfigured",
        receipt="failed",
        receipt_reason="disconnected_before_submit",
        receipt_at=_START + dt.timedelta(days=1),
    )
    failed = replace(
        delivery,
        state="cancelled",
        reason="ambiguous_resends_used_up",
        segments_bucket="4-6",
        claims=10,
        due_at=_START + dt.timedelta(hours=1),
        finished_at=_START + dt.timedelta(hours=2),
        attempts=tuple(replace(tried, number=number) for number in range(1, 7)),
    )
    return replace(
        usual,
        kind="security_notice",
        template_version="2026-12-31.draft",
        strategy="fallback",
        cancel_reason="destination_limit",
        trace_parent_span="0123456789abcdef",
        admission_seconds=9.876543,
        deliveries=(failed, replace(failed, channel="email")),
    )
