"""What counters say and what rows say, each worked out here anew, and time that passes for both."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from typing import Any

from django.db.models import Model

from resetdelivery.domain.telemetry import (
    DURATION_SECONDS,
    LEASE_USED_RATIO,
    QUEUE_DELAY_SECONDS,
    REMAINING_RATIO,
    SEGMENT_BUCKETS,
    bucket_of,
)
from resetdelivery.models import (
    Attempt,
    Delivery,
    EventMinute,
    EventTotal,
    OutcomeMinute,
    OutcomeTotal,
    RollupState,
)
from tests.conftest import age

#: Numbers by what they count: "attempts" or a measure with labels and bucket, or an event with labels.
Numbers = Counter[tuple[Any, ...]]

LISTS = ("queue_delay_counts", "duration_counts", "remaining_counts", "lease_used_counts", "segments_counts")
SUMS = ("queue_delay_seconds", "duration_seconds", "remaining_ratio", "lease_used_ratio")


def closed_before() -> dt.datetime | None:
    """Up to where the totals go."""
    return RollupState.objects.values_list("closed_before", flat=True).first()


def displayed() -> Numbers:
    """Every counter as a scrape has it: the totals, and the minutes that are still open."""
    since = closed_before()
    still_open = {"minute__gte": since} if since else {}
    numbers: Numbers = Counter()
    for row in chain(OutcomeTotal.objects.all(), OutcomeMinute.objects.filter(**still_open)):
        numbers.update(_of_outcomes(row))
    for event in chain(EventTotal.objects.all(), EventMinute.objects.filter(**still_open)):
        numbers[event.event, event.channel, event.label] += event.count
    return numbers


def _of_outcomes(row: Any) -> Numbers:
    labels = (row.channel, row.outcome, row.template_version)
    numbers: Numbers = Counter({("attempts", *labels): row.attempts})
    for name in LISTS:
        for bucket, number in enumerate(getattr(row, name)):
            numbers[name, *labels, bucket] = number
    for name in SUMS:
        numbers[name, *labels] = getattr(row, name)
    return numbers


def counts(numbers: Numbers) -> Numbers:
    """Only what is counted, without sums of measures, and without zeroes."""
    return Counter({key: number for key, number in numbers.items() if number and key[0] not in SUMS})


def sums(numbers: Numbers) -> Numbers:
    """Only sums of measures."""
    return Counter({key: number for key, number in numbers.items() if key[0] in SUMS})


def truth(deliveries: Iterable[Delivery] | None = None) -> Numbers:
    """What the rows of ``deliveries`` (by default, of all) come to."""
    numbers: Numbers = Counter()
    for delivery in Delivery.objects.select_related("intent") if deliveries is None else deliveries:
        numbers.update(_of_delivery(delivery))
        for attempt in delivery.attempt_rows.all():
            numbers.update(_of_attempt(delivery, attempt))
    return numbers


def _of_delivery(delivery: Delivery) -> Numbers:
    channel = delivery.channel
    numbers: Numbers = Counter({("admitted", channel, delivery.authority): 1})
    if delivery.first_hint:
        numbers["hint", channel, delivery.first_hint] += 1
    if delivery.finished_at and delivery.authority == "shadow":
        return numbers + of_shadow(delivery, delivery.finished_at)
    if delivery.finished_at:
        taken = delivery.state in {"accepted", "delivered"} or delivery.outcome == "accepted"
        numbers["finished", channel, "accepted" if taken else delivery.state] += 1
    if delivery.state == "expired" and delivery.authority == "pipeline":
        numbers["expired_usefully", channel, delivery.reason] += 1
    return numbers


def of_shadow(delivery: Delivery, finished_at: dt.datetime) -> Numbers:
    """What a shadow that ended comes to."""
    channel = delivery.channel
    numbers: Numbers = Counter({("shadow_finished", channel, delivery.state): 1})
    if delivery.claims:
        numbers["shadow_claimed", channel, ""] += 1
    if delivery.state != "shadowed":
        numbers["shadow_refused", channel, delivery.reason] += 1
        return numbers
    bucket = bucket_of((finished_at - delivery.due_at).total_seconds(), QUEUE_DELAY_SECONDS)
    numbers["shadow_delay", channel, [*(f"{b:g}" for b in QUEUE_DELAY_SECONDS), "inf"][bucket]] += 1
    if delivery.segments_bucket:
        numbers["shadow_segments", channel, delivery.segments_bucket] += 1
    return numbers


def _of_attempt(delivery: Delivery, attempt: Attempt) -> Numbers:
    numbers: Numbers = Counter()
    if attempt.receipt:
        numbers["receipt", delivery.channel, attempt.receipt] += 1
    if attempt.late_outcome:
        numbers["late_outcome", delivery.channel, attempt.late_outcome] += 1
    if attempt.outcome:
        numbers.update(_of_outcome(delivery, attempt))
    return numbers


def _of_outcome(delivery: Delivery, attempt: Attempt) -> Numbers:
    labels = (delivery.channel, attempt.outcome, delivery.intent.template_version)
    assert attempt.finished_at is not None
    left = (delivery.expires_at - attempt.finished_at) / (delivery.expires_at - delivery.intent.created_at)
    duration = None if attempt.late_outcome else attempt.duration_seconds
    numbers: Numbers = Counter({("attempts", *labels): 1})
    for counted, summed, value, bounds in (
        (LISTS[0], SUMS[0], attempt.queue_delay_seconds, QUEUE_DELAY_SECONDS),
        (LISTS[1], SUMS[1], duration, DURATION_SECONDS),
        (LISTS[2], SUMS[2], left, REMAINING_RATIO),
        (LISTS[3], SUMS[3], attempt.lease_used, LEASE_USED_RATIO),
    ):
        if value is not None:
            numbers[counted, *labels, bucket_of(value, bounds)] += 1
            numbers[summed, *labels] += max(value, 0)  # type: ignore[assignment]
    if delivery.segments_bucket in SEGMENT_BUCKETS:
        numbers[LISTS[4], *labels, SEGMENT_BUCKETS.index(delivery.segments_bucket)] += 1
    return numbers


def pass_minutes(minutes: int) -> None:
    """Make rows, minutes and the watermark older by whole minutes, so that a minute stays one."""
    back = dt.timedelta(minutes=minutes)
    age(back.total_seconds())
    for model in (OutcomeMinute, EventMinute):
        _move_back(model, back)
    for state in RollupState.objects.exclude(closed_before=None):
        assert state.closed_before is not None
        RollupState.objects.update(closed_before=state.closed_before - back)


def _move_back(model: type[Model], back: dt.timedelta) -> None:
    # Stored anew: an update would meet the row of the minute before in the middle of its work.
    rows: list[Any] = list(model._default_manager.all())
    model._default_manager.all().delete()
    for row in rows:
        row.pk, row.minute = None, row.minute - back
    model._default_manager.bulk_create(rows)
