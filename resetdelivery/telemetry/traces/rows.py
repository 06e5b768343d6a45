"""Closed intents with all that their traces are made of, in three statements for any number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from django.db.models import F

from resetdelivery.domain.traced import TracedAttempt, TracedDelivery, TracedIntent
from resetdelivery.models import Attempt, Delivery, ResetIntent


def _columns(target: type) -> list[str]:
    """What is read: nothing but what a trace is made of."""
    made_here = {"deliveries", "attempts", "attempts_counted"}
    return [field.name for field in fields(target) if field.name not in made_here]


_INTENT = _columns(TracedIntent)
_DELIVERY = _columns(TracedDelivery)
_ATTEMPT = _columns(TracedAttempt)


def untraced(*, after: int = 0, limit: int, using: str) -> Mapping[int, TracedIntent]:
    """By their ids, the oldest intents past ``after`` whose traces are still to be exported.

    They are ``limit`` at the most.
    """
    rows: dict[int, dict[str, Any]] = {
        row.pop("id"): row
        # In the words of the index "resetdelivery_intent_trace".
        for row in ResetIntent.objects.using(using)
        .filter(state="closed", traced_at=None, id__gt=after)
        .exclude(traceparent="")
        .order_by("id")
        .values("id", *_INTENT)[:limit]
    }
    deliveries = _deliveries(list(rows), using)
    return {pk: TracedIntent(**row, deliveries=tuple(deliveries[pk])) for pk, row in rows.items()}


def _deliveries(intents: Sequence[int], using: str) -> Mapping[int, list[TracedDelivery]]:
    rows: list[dict[str, Any]] = list(
        Delivery.objects.using(using)
        .filter(intent_id__in=intents)
        .order_by("intent_id", "position")
        .values("id", "intent_id", *_DELIVERY, attempts_counted=F("attempts"))
    )
    attempts = _attempts([row["id"] for row in rows], using)
    found: defaultdict[int, list[TracedDelivery]] = defaultdict(list)
    for row in rows:
        own, intent = attempts[row.pop("id")], row.pop("intent_id")
        found[intent].append(TracedDelivery(**row, attempts=tuple(own)))
    return found


def _attempts(deliveries: Sequence[int], using: str) -> Mapping[int, list[TracedAttempt]]:
    found: defaultdict[int, list[TracedAttempt]] = defaultdict(list)
    rows = Attempt.objects.using(using).filter(delivery_id__in=deliveries).order_by("delivery_id", "number")
    row: dict[str, Any]
    for row in rows.values("delivery_id", *_ATTEMPT):
        found[row.pop("delivery_id")].append(TracedAttempt(**row))
    return found
