"""What each metric stands at after a scrape: a value for every set of labels, zeroes included.

Prometheus takes the first value that it sees of a counter for what was there before: a series that
begins with its first event hides that event.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product

from notifications.channels import Channel
from resetdelivery.conf import get_settings
from resetdelivery.domain.reasons import PauseReason
from resetdelivery.domain.telemetry import CountedEvent, no_counts
from resetdelivery.models.channel_control import ChannelMode
from resetdelivery.telemetry import metric_names as names
from resetdelivery.telemetry.metric_labels import (
    ONLY,
    OTHER,
    RETIRED,
    SEGMENTS,
    label_providers,
    label_versions,
    providers_of,
)
from resetdelivery.telemetry.metric_names import Metric
from resetdelivery.telemetry.metrics.counters import Buckets, Counters
from resetdelivery.telemetry.metrics.scrape import Queues, Scrape, Stored

Labels = tuple[str, ...]
#: By the values of a metric's labels, in their order.
Values = Mapping[Labels, float | Buckets]

_EVENTS: Mapping[Metric, Sequence[CountedEvent]] = {
    names.ADMITTED: [CountedEvent.ADMITTED],
    names.FINISHED: [CountedEvent.FINISHED],
    names.SHADOW_FINISHED: [CountedEvent.SHADOW_FINISHED],
    names.LEGACY_REPORTED: [CountedEvent.LEGACY_REPORTED],
    names.USELESS_EXPIRED: [CountedEvent.EXPIRED_USEFULLY],
    names.RECEIPTS: [CountedEvent.RECEIPT],
    names.LATE_OUTCOMES: [CountedEvent.LATE_OUTCOME],
    names.HINTS: [CountedEvent.HINT, CountedEvent.LATER_HINT],
    names.LEASE_RECOVERIES: [CountedEvent.LEASE_RECOVERED],
}
_HISTOGRAMS: Mapping[Metric, str] = {
    names.QUEUE_DELAY: "queue_delay",
    names.DURATION: "duration",
    names.REMAINING: "remaining",
    names.LEASE_USED: "lease_used",
}


def samples(scrape: Scrape) -> dict[Metric, Values]:
    """The values of every metric of which something is known."""
    found: dict[Metric, Values] = {
        names.SCRAPE_SUCCESS: {(): float(scrape.stored is not None)},
        names.SCRAPE_DURATION: {(): scrape.took_seconds},
    }
    if scrape.stored is not None:
        found |= _counters(scrape.stored.counters) | _gauges(scrape.stored) | _job_gauges(scrape.stored)
    if scrape.queues is not None:
        found |= _queue_gauges(scrape.queues)
    return found


def _counters(counters: Counters) -> dict[Metric, Values]:
    versions = label_versions()
    attempts = (
        ((channel, outcome, version if version in versions else RETIRED), number)
        for (channel, outcome, version), number in counters.attempts.items()
    )
    segments = zip(SEGMENTS.values(), counters.segments, strict=False)
    return {
        names.ATTEMPTS: _summed(names.ATTEMPTS, attempts),
        names.SMS_ATTEMPTS: _summed(names.SMS_ATTEMPTS, (((name,), number) for name, number in segments)),
        **{metric: _histogram(metric, name, counters) for metric, name in _HISTOGRAMS.items()},
        **{metric: _happened(metric, events, counters) for metric, events in _EVENTS.items()},
    }


def _summed(metric: Metric, counted: Iterable[tuple[Labels, float]]) -> dict[Labels, float]:
    """A value for each set of labels that the metric has; what has other labels is left out."""
    sums = dict.fromkeys(product(*(label.values() for label in metric.labels)), 0.0)
    for labels, number in counted:
        if labels in sums:
            sums[labels] += number
    return sums


def _happened(metric: Metric, events: Sequence[CountedEvent], counters: Counters) -> dict[Labels, float]:
    known = metric.labels[1].values()
    # Of a report the part behind our own ending.
    told = (
        (channel, label.rpartition(":")[2], number)
        for (event, channel, label), number in counters.events.items()
        if event in events
    )
    return _summed(
        metric, (((channel, one if one in known else OTHER), number) for channel, one, number in told)
    )


def _histogram(metric: Metric, name: str, counters: Counters) -> dict[Labels, Buckets]:
    nothing = Buckets(counts=no_counts(metric.buckets), total=0.0)
    found = {channel: counters.histograms.get((name, channel), nothing) for channel in Channel}
    return {(channel.value,): one if one.counts else nothing for channel, one in found.items()}


def _gauges(stored: Stored) -> dict[Metric, Values]:
    current, settings = stored.current, get_settings()
    return {
        names.OLDEST_ELIGIBLE: _summed(
            names.OLDEST_ELIGIBLE, (((channel,), age) for channel, age in current.due_seconds.items())
        ),
        names.OPEN_DELIVERIES: _summed(names.OPEN_DELIVERIES, current.open.items()),
        names.CHANNEL_MODE: _summed(
            names.CHANNEL_MODE, (((c, current.modes.get(c, ChannelMode.LIVE)), 1) for c in Channel)
        ),
        names.CHANNEL_PAUSED: _summed(
            names.CHANNEL_PAUSED,
            (
                ((channel, reason or PauseReason.OPERATOR), 1)
                for channel, (reason, paused) in current.pauses.items()
                if paused
            ),
        ),
        names.CIRCUIT_OPEN: _circuits(stored.circuits),
        names.LIFETIME: {
            (channel.value,): min(settings.lifetime, options.max_lifetime).total_seconds()
            for channel, options in settings.channels.items()
        },
    }


def _circuits(open_ones: Iterable[tuple[str, str]]) -> dict[Labels, float]:
    """One for each configured provider; what is on record of others is history."""
    known, listed = set(open_ones), label_providers()
    found: dict[Labels, float] = {}
    for channel in get_settings().channels:
        for name in providers_of(channel):
            if name in listed:
                is_open = any(one == channel and name in {provider, ONLY} for one, provider in known)
                found[channel.value, name] = float(is_open)
    return found


def _job_gauges(stored: Stored) -> dict[Metric, Values]:
    return {
        names.JOB_SUCCESS: _summed(
            names.JOB_SUCCESS,
            (((name,), run.succeeded_at.timestamp()) for name, run in stored.jobs.items()),
        ),
        names.JOB_DURATION: _summed(
            names.JOB_DURATION, (((name,), run.took_seconds) for name, run in stored.jobs.items())
        ),
    }


def _queue_gauges(queues: Queues) -> dict[Metric, Values]:
    return {
        names.BROKER_UP: {(): float(queues.up)},
        names.QUEUE_LENGTH: {(channel.value,): length for channel, length in queues.lengths.items()},
    }
