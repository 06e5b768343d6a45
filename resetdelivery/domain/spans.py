"""The spans of one intent, made from what is stored. Pure: the same rows give the same spans.

All that a span may say stands in :class:`SpanField`; each value is a number, a flag or a word of a
closed set. Names follow OpenTelemetry's conventions for messaging, where there is one that fits.
https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/
"""

from __future__ import annotations

import datetime as dt
import enum
import hashlib
import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

from notifications.outcome import OutcomeKind, Reason
from resetdelivery.domain.states import DeliveryState
from resetdelivery.domain.trace_sampling import Sampled
from resetdelivery.domain.traced import TracedAttempt, TracedDelivery, TracedIntent


class SpanField(enum.StrEnum):
    """Every attribute that a span of ours may have."""

    SYSTEM = "messaging.system"
    OPERATION = "messaging.operation.name"
    OPERATION_TYPE = "messaging.operation.type"
    #: The channel.
    DESTINATION = "messaging.destination.name"
    #: An outcome that is not acceptance, or a final state that is not as meant.
    ERROR_TYPE = "error.type"
    KIND = "resetdelivery.kind"
    STRATEGY = "resetdelivery.strategy"
    TEMPLATE_VERSION = "resetdelivery.template_version"
    KEPT_FOR = "resetdelivery.kept_for"
    PROBABILITY = "resetdelivery.sampling.probability"
    AUTHORITY = "resetdelivery.authority"
    STATE = "resetdelivery.state"
    OUTCOME = "resetdelivery.outcome"
    REASON = "resetdelivery.reason"
    ATTEMPT = "resetdelivery.attempt"
    REMAINING = "resetdelivery.remaining_seconds"
    SEGMENTS = "resetdelivery.segments"
    RECOVERED = "resetdelivery.recovered"
    LATE = "resetdelivery.late"
    #: Rows that a sweep took back.
    ROWS = "resetdelivery.rows"
    #: Spans of the same name that this process left out since the last one.
    LEFT_OUT = "resetdelivery.left_out"


class SpanKind(enum.StrEnum):
    """OpenTelemetry's kinds, as far as they are used."""

    INTERNAL = "internal"
    PRODUCER = "producer"
    CONSUMER = "consumer"
    CLIENT = "client"


Attribute = str | int | float | bool | tuple[str, ...]
Attributes = Mapping[SpanField, Attribute]

_TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanRef:
    """One span's ids, in lower-case hex: 32 digits of its trace, 16 of its own."""

    trace_id: str
    span_id: str

    @classmethod
    def of(cls, traceparent: str) -> Self | None:
        """What ``traceparent`` names (W3C Trace Context, 3.2); ``None`` if it is not of version 00."""
        found = _TRACEPARENT.fullmatch(traceparent)
        return cls(trace_id=found[1], span_id=found[2]) if found else None

    def traceparent(self) -> str:
        """The same as a header's value; always with the flag "sampled": what is kept is decided later."""
        return f"00-{self.trace_id}-{self.span_id}-01"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One span; ``trace_state`` is the value of tracestate's member ``ot``."""

    name: str
    kind: SpanKind
    ref: SpanRef
    started_at: dt.datetime
    ended_at: dt.datetime
    attributes: Attributes
    parent_id: str = ""
    trace_state: str = ""
    is_error: bool = False
    links: tuple[SpanRef, ...] = field(default=())


def admission_ref(reference: uuid.UUID, *, trace_id: str | None = None) -> SpanRef:
    """The span that admits an intent: in a trace of its own, or in the caller's."""
    return SpanRef(trace_id=trace_id or reference.hex, span_id=_span_id(reference, "admit"))


def spans_of(intent: TracedIntent, kept: Sampled) -> tuple[Span, ...]:
    """The whole trace: admission, and of each channel every wait, claim and submission.

    All in one trace, whoever did it and however often; none if ``traceparent`` has no usable form.
    """
    root = SpanRef.of(intent.traceparent)
    if root is None:
        return ()
    trace = _Trace(intent, root, kept.trace_state)
    spans = [trace.admission(kept)]
    for delivery in intent.deliveries:
        spans += trace.of_delivery(delivery)
    return tuple(spans)


def _span_id(reference: uuid.UUID, name: str) -> str:
    """Eight octets that are the same each time, so that a trace exported twice is one."""
    return hashlib.sha256(reference.bytes + name.encode()).hexdigest()[:16]


class _Trace:
    """One intent's trace, under way."""

    def __init__(self, intent: TracedIntent, root: SpanRef, trace_state: str) -> None:
        self._intent = intent
        self._root = root
        self._trace_state = trace_state

    def admission(self, kept: Sampled) -> Span:
        intent = self._intent
        told: dict[SpanField, Attribute] = {
            **_messaging("admit", "create"),
            SpanField.KIND: intent.kind,
            SpanField.STRATEGY: intent.strategy,
            SpanField.TEMPLATE_VERSION: intent.template_version,
            SpanField.KEPT_FOR: tuple(reason.value for reason in kept.reasons),
            SpanField.PROBABILITY: kept.probability,
            **_reason(intent.cancel_reason),
        }
        took = dt.timedelta(seconds=intent.admission_seconds or 0.0)
        return Span(
            name=f"admit {intent.kind}",
            kind=SpanKind.PRODUCER,
            ref=self._root,
            parent_id=intent.trace_parent_span,
            # Its end is read from the database's clock right before it is stored.
            started_at=intent.created_at - took,
            ended_at=intent.created_at,
            attributes=told,
            trace_state=self._trace_state,
        )

    def of_delivery(self, delivery: TracedDelivery) -> Iterator[Span]:
        for attempt in delivery.attempts:
            is_last = attempt is delivery.attempts[-1] and not delivery.waited_in_vain
            yield from self._of_attempt(delivery, attempt, _ending(delivery) if is_last else {})
        if delivery.waited_in_vain:
            yield self._span(
                "wait",
                delivery,
                number=len(delivery.attempts) + 1,
                # Cancelled before its time came, it was at its end at once.
                times=(min(delivery.due_at, delivery.finished_at), delivery.finished_at),
                told=_ending(delivery),
            )

    def _of_attempt(
        self, delivery: TracedDelivery, attempt: TracedAttempt, ending: Attributes
    ) -> Iterator[Span]:
        number = attempt.number
        counted = {SpanField.ATTEMPT: number}
        wait = (attempt.due_at, attempt.taken_at)
        yield self._span("wait", delivery, number=number, times=wait, told=counted)
        process = self._span(
            "process",
            delivery,
            number=number,
            kind=SpanKind.CONSUMER,
            times=(attempt.taken_at, max(attempt.settled_at, attempt.answered_at)),
            told={**_messaging("process", "process"), **counted, **ending},
        )
        yield process
        yield self._span(
            "submit",
            delivery,
            number=number,
            kind=SpanKind.CLIENT,
            times=(attempt.started_at, attempt.answered_at),
            told={**_messaging("submit", "send"), **counted, **_submission(delivery, attempt)},
            parent=process.ref,
        )
        if attempt.receipt == "failed" and attempt.receipt_at:
            yield self._span(
                "receipt",
                delivery,
                number=number,
                times=(attempt.answered_at, attempt.receipt_at),
                told={**counted, SpanField.ERROR_TYPE: attempt.receipt_reason or "failed"},
            )

    def _span(
        self,
        operation: str,
        delivery: TracedDelivery,
        *,
        number: int,
        times: tuple[dt.datetime, dt.datetime],
        told: Attributes,
        kind: SpanKind = SpanKind.INTERNAL,
        parent: SpanRef | None = None,
    ) -> Span:
        name = f"{operation} {delivery.channel}"
        started_at, ended_at = times
        return Span(
            name=name,
            kind=kind,
            ref=SpanRef(
                trace_id=self._root.trace_id, span_id=_span_id(self._intent.reference, f"{name} {number}")
            ),
            parent_id=(parent or self._root).span_id,
            started_at=started_at,
            # Two clocks may have told them: the database's and a worker's.
            ended_at=max(started_at, ended_at),
            attributes={SpanField.DESTINATION: delivery.channel, **told},
            trace_state=self._trace_state,
            is_error=SpanField.ERROR_TYPE in told,
        )


def _messaging(operation: str, operation_type: str) -> dict[SpanField, Attribute]:
    return {
        SpanField.SYSTEM: "resetdelivery",
        SpanField.OPERATION: operation,
        SpanField.OPERATION_TYPE: operation_type,
    }


def _if_any(name: SpanField, value: str | bool) -> dict[SpanField, Attribute]:
    return {name: value} if value else {}


def _reason(code: str) -> dict[SpanField, Attribute]:
    return _if_any(SpanField.REASON, "" if code == Reason.OK else code)


def _ending(delivery: TracedDelivery) -> Attributes:
    """How our work on a channel ended: told by the last span of it."""
    wrong = delivery.state in {DeliveryState.FAILED, DeliveryState.EXPIRED}
    return {
        SpanField.AUTHORITY: delivery.authority,
        SpanField.STATE: delivery.state,
        **_reason(delivery.reason),
        **_if_any(SpanField.RECOVERED, delivery.is_recovered),
        **_if_any(SpanField.ERROR_TYPE, delivery.state if wrong else ""),
    }


def _submission(delivery: TracedDelivery, attempt: TracedAttempt) -> Attributes:
    refused = attempt.outcome != OutcomeKind.ACCEPTED
    return {
        **_if_any(SpanField.OUTCOME, attempt.outcome),
        **_reason(attempt.reason),
        SpanField.REMAINING: round(attempt.remaining_seconds, 3),
        **_if_any(SpanField.SEGMENTS, delivery.segments_bucket),
        **_if_any(SpanField.LATE, attempt.is_late),
        **_if_any(SpanField.ERROR_TYPE, attempt.outcome if refused else ""),
    }
