"""Which traces are kept: each that is rare, bad or a matter of security, and a share of the others.

The share is chosen by the reference, so that it comes out the same wherever it is decided, and is
told in the form of OpenTelemetry's probability sampling: a 56-bit threshold ``th`` with which 56
random bits are compared. They are the last of the trace id, or stand beside it as ``rv``.
https://opentelemetry.io/docs/specs/otel/trace/tracestate-probability-sampling/
"""

from __future__ import annotations

import enum
import uuid
from dataclasses import dataclass

from resetdelivery.domain.traced import TracedIntent

_RANGE = 2**56
_DIGITS = 14


class KeptFor(enum.StrEnum):
    """Why a trace is kept."""

    #: One of the share of resets that went as they should.
    SAMPLED = "sampled"
    #: A channel ended neither accepted nor delivered, and was ours and needed.
    NOT_SENT = "not_sent"
    #: A limit was used up.
    SUPPRESSED = "suppressed"
    ACCOUNT_CHANGED = "account_changed"
    RETRIED = "retried"
    #: A lease ran out: a worker died, or stood still.
    RECOVERED = "recovered"
    LATE = "late"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """A trace to keep: why, with which probability, and the value of tracestate's member ``ot``."""

    reasons: tuple[KeptFor, ...]
    probability: float
    trace_state: str


def sampled(intent: TracedIntent, trace_id: str, *, successes_per_mille: int) -> Sampled | None:
    """How ``intent`` is kept; ``None`` if it is not."""
    always = _reasons(intent)
    if always:
        return Sampled(reasons=always, probability=1.0, trace_state="th:0")
    threshold = _RANGE - _RANGE * successes_per_mille // 1000
    randomness = randomness_of(intent.reference)
    if randomness < threshold:
        return None
    return Sampled(
        reasons=(KeptFor.SAMPLED,),
        probability=(_RANGE - threshold) / _RANGE,
        trace_state=_trace_state(threshold, randomness, trace_id),
    )


def randomness_of(reference: uuid.UUID) -> int:
    """56 random bits: the last of a random UUID hold neither its version nor its variant (RFC 9562, 5.4)."""
    return reference.int % _RANGE


def _trace_state(threshold: int, randomness: int, trace_id: str) -> str:
    th = f"{threshold:0{_DIGITS}x}".rstrip("0") or "0"
    rv = f"{randomness:0{_DIGITS}x}"
    return f"th:{th}" if trace_id.endswith(rv) else f"th:{th};rv:{rv}"


def _reasons(intent: TracedIntent) -> tuple[KeptFor, ...]:
    deliveries, attempts = intent.deliveries, intent.attempts
    found = {
        KeptFor.NOT_SENT: not all(one.is_as_meant for one in deliveries),
        KeptFor.SUPPRESSED: any(one.is_suppressed for one in deliveries),
        KeptFor.ACCOUNT_CHANGED: any(one.is_account_changed for one in deliveries),
        KeptFor.RETRIED: any(len(one.attempts) > 1 for one in deliveries),
        KeptFor.RECOVERED: any(one.is_recovered for one in deliveries),
        KeptFor.LATE: any(one.is_late for one in attempts),
        KeptFor.AMBIGUOUS: any(one.is_ambiguous for one in attempts),
    }
    return tuple(reason for reason, holds in found.items() if holds)
