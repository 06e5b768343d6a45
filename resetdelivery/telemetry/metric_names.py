"""Every metric, with its labels from closed sets, so that the number of series is known.

Names follow Prometheus's rules: one base unit, ``_total`` where it is a counter, no ids.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

from resetdelivery.domain.telemetry import (
    DURATION_SECONDS,
    LEASE_USED_RATIO,
    QUEUE_DELAY_SECONDS,
    REMAINING_RATIO,
)
from resetdelivery.telemetry.metric_labels import (
    AUTHORITY,
    CHANNEL,
    ENDING,
    HELD,
    HINT,
    JOB,
    LEGACY_OUTCOME,
    MODE,
    OUTCOME,
    PAUSE,
    PROVIDER,
    SEGMENTS,
    SHADOW_ENDING,
    STATE,
    USELESS,
    VERDICT,
    VERSION,
    Label,
)

__all__ = ["METRICS", "PREFIX", "Label", "Metric", "MetricKind"]

PREFIX = "resetdelivery_"


class MetricKind(enum.StrEnum):
    """Prometheus's types, as far as they are used."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric; ``buckets`` are a histogram's finite bounds."""

    name: str
    kind: MetricKind
    help: str
    labels: tuple[Label, ...] = ()
    buckets: tuple[float, ...] = ()

    @property
    def label_sets(self) -> int:
        """The product of its labels' sizes."""
        return math.prod(label.most for label in self.labels)

    @property
    def series(self) -> int:
        """Time series at the most: of a histogram each bucket, the one without a bound, sum and count."""
        return self.label_sets * (len(self.buckets) + 3 if self.kind is MetricKind.HISTOGRAM else 1)


def _counter(name: str, text: str, *labels: Label) -> Metric:
    return Metric(name=PREFIX + name, kind=MetricKind.COUNTER, help=text, labels=labels)


def _gauge(name: str, text: str, *labels: Label) -> Metric:
    return Metric(name=PREFIX + name, kind=MetricKind.GAUGE, help=text, labels=labels)


def _histogram(name: str, text: str, bounds: tuple[float, ...]) -> Metric:
    return Metric(name=PREFIX + name, kind=MetricKind.HISTOGRAM, help=text, labels=(CHANNEL,), buckets=bounds)


ATTEMPTS = _counter(
    "attempts_total",
    "Attempts that ended. 'retired' jumps when a template version is retired: leave it out of rates.",
    CHANNEL,
    OUTCOME,
    VERSION,
)
QUEUE_DELAY = _histogram(
    "attempt_queue_delay_seconds",
    "From when a delivery was due to the start of an attempt.",
    QUEUE_DELAY_SECONDS,
)
DURATION = _histogram("attempt_duration_seconds", "How long submissions took.", DURATION_SECONDS)
REMAINING = _histogram(
    "accepted_remaining_lifetime_ratio",
    "Share of a delivery's life that was left when its provider accepted it.",
    REMAINING_RATIO,
)
LEASE_USED = _histogram(
    "lease_used_ratio",
    "Share of a claim's lease that had gone by as an attempt was recorded.",
    LEASE_USED_RATIO,
)
SMS_ATTEMPTS = _counter("sms_attempts_total", "Attempts that ended, by SMS segments.", SEGMENTS)
ADMITTED = _counter("admitted_total", "Deliveries that were admitted, by who sends them.", CHANNEL, AUTHORITY)
FINISHED = _counter(
    "finished_total", "Deliveries, shadows left out, on which our own work ended, by how.", CHANNEL, ENDING
)
SHADOW_FINISHED = _counter(
    "shadow_finished_total", "Shadows on which our own work ended, by how.", CHANNEL, SHADOW_ENDING
)
LEGACY_REPORTED = _counter(
    "legacy_reported_total", "What an existing sender reported of its own.", CHANNEL, LEGACY_OUTCOME
)
USELESS_EXPIRED = _counter(
    "useful_expiry_rejections_total",
    "Deliveries of ours given up as what was left of their life was of no use.",
    CHANNEL,
    USELESS,
)
RECEIPTS = _counter("receipts_total", "What providers told later, by verdict.", CHANNEL, VERDICT)
LATE_OUTCOMES = _counter(
    "late_outcomes_total",
    "Outcomes of workers that came back after their lease had run out.",
    CHANNEL,
    OUTCOME,
)
HINTS = _counter("hints_total", "Hints to workers that rows are due, by what became of them.", CHANNEL, HINT)
LEASE_RECOVERIES = _counter(
    "lease_recoveries_total",
    "Leases of ours to send that ran out and were taken back, by the state they held.",
    CHANNEL,
    HELD,
)
OLDEST_ELIGIBLE = _gauge(
    "oldest_eligible_age_seconds",
    "How long the delivery of ours that has waited longest has been due; 0 if none.",
    CHANNEL,
)
LIFETIME = _gauge("lifetime_seconds", "How long a new delivery lives, as set.", CHANNEL)
OPEN_DELIVERIES = _gauge("open_deliveries", "Deliveries that are not finished, by state.", CHANNEL, STATE)
CHANNEL_MODE = _gauge("channel_mode", "1 for who sends what is admitted on a channel now.", CHANNEL, MODE)
CHANNEL_PAUSED = _gauge("channel_paused", "1 while a channel sends nothing, by why.", CHANNEL, PAUSE)
CIRCUIT_OPEN = _gauge("provider_circuit_open", "1 while a provider is passed over.", CHANNEL, PROVIDER)
JOB_SUCCESS = _gauge(
    "job_last_success_timestamp_seconds", "When periodic work last succeeded; 0 if it never did.", JOB
)
JOB_DURATION = _gauge("job_last_duration_seconds", "How long periodic work took when it last succeeded.", JOB)
QUEUE_LENGTH = _gauge(
    "queue_length", "Hints that wait in a channel's queue; absent without a broker.", CHANNEL
)
BROKER_UP = _gauge("broker_up", "Whether the broker answered; absent where none is used.")
SCRAPE_SUCCESS = _gauge(
    "scrape_success", "Whether the database answered in time; if not, nothing of it is told."
)
SCRAPE_DURATION = _gauge("scrape_duration_seconds", "How long it took to collect this page.")

METRICS: tuple[Metric, ...] = (
    ATTEMPTS,
    QUEUE_DELAY,
    DURATION,
    REMAINING,
    LEASE_USED,
    SMS_ATTEMPTS,
    ADMITTED,
    FINISHED,
    SHADOW_FINISHED,
    LEGACY_REPORTED,
    USELESS_EXPIRED,
    RECEIPTS,
    LATE_OUTCOMES,
    HINTS,
    LEASE_RECOVERIES,
    OLDEST_ELIGIBLE,
    LIFETIME,
    OPEN_DELIVERIES,
    CHANNEL_MODE,
    CHANNEL_PAUSED,
    CIRCUIT_OPEN,
    JOB_SUCCESS,
    JOB_DURATION,
    QUEUE_LENGTH,
    BROKER_UP,
    SCRAPE_SUCCESS,
    SCRAPE_DURATION,
)
