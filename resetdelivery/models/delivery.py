from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q

from notifications.channels import Channel
from notifications.outcome import OutcomeKind
from resetdelivery.domain.reasons import ArmReason, SuppressReason
from resetdelivery.domain.states import FINISHED_STATES, HELD_STATES, Authority, DeliveryState
from resetdelivery.domain.telemetry import FirstHint, LegacyOutcome
from resetdelivery.models.choices import choices, values
from resetdelivery.models.intent import ResetIntent


class Delivery(models.Model):
    """One intent on one channel: the queue item of record.

    ``lease_token`` rises at every claim and fences every later step. ``claims`` counts how often
    workers took it, ``attempts`` the tries that count. ``hinted_at`` is when a hint was last
    published; null means that nobody was told and any worker may take it at once. ``arm_at`` is
    when a WAITING delivery is armed at the latest; once armed, when it was, with the reason.
    ``suppressed`` says which limit was used up at admission: it goes the way of every other, and
    the gate ends it. ``first_hint`` is what became of the hint that its admission owed.
    ``legacy_outcome`` is what the existing sender reported of it, once.
    """

    reference = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    intent = models.ForeignKey(ResetIntent, on_delete=models.CASCADE, related_name="deliveries")
    channel = models.CharField(max_length=16, choices=choices(Channel))
    position = models.PositiveSmallIntegerField(default=0)
    authority = models.CharField(max_length=16, choices=choices(Authority), default=Authority.PIPELINE)
    state = models.CharField(max_length=16, choices=choices(DeliveryState), default=DeliveryState.PENDING)
    claims = models.PositiveIntegerField(default=0)
    attempts = models.PositiveIntegerField(default=0)
    due_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    lease_owner = models.CharField(max_length=64, default="")
    lease_token = models.PositiveIntegerField(default=0)
    lease_expires_at = models.DateTimeField(null=True)
    hinted_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=16, default="", choices=choices(OutcomeKind))
    reason = models.CharField(max_length=32, default="")
    segments_bucket = models.CharField(max_length=8, default="")
    finished_at = models.DateTimeField(null=True)
    arm_at = models.DateTimeField(null=True)
    arm_reason = models.CharField(max_length=16, default="", db_default="", choices=choices(ArmReason))
    suppressed = models.CharField(max_length=32, default="", db_default="", choices=choices(SuppressReason))
    first_hint = models.CharField(max_length=16, default="", db_default="", choices=choices(FirstHint))
    legacy_outcome = models.CharField(
        max_length=16, default="", db_default="", choices=choices(LegacyOutcome)
    )

    class Meta:
        verbose_name_plural = "deliveries"
        constraints = [
            models.UniqueConstraint(name="resetdelivery_delivery_once", fields=["intent", "channel"]),
            models.CheckConstraint(
                name="resetdelivery_delivery_state", condition=Q(state__in=values(DeliveryState))
            ),
            models.CheckConstraint(
                name="resetdelivery_delivery_authority", condition=Q(authority__in=values(Authority))
            ),
            models.CheckConstraint(
                name="resetdelivery_delivery_lease",
                condition=Q(state__in=values(HELD_STATES), lease_expires_at__isnull=False)
                & ~Q(lease_owner="")
                | ~Q(state__in=values(HELD_STATES)) & Q(lease_expires_at=None, lease_owner=""),
            ),
            models.CheckConstraint(
                name="resetdelivery_delivery_finished",
                condition=Q(state__in=values(FINISHED_STATES), finished_at__isnull=False)
                | ~Q(state__in=values(FINISHED_STATES)) & Q(finished_at=None),
            ),
            # Nothing but our own deliveries is ever submitted by us, whatever the code says.
            models.CheckConstraint(
                name="resetdelivery_delivery_sender",
                condition=~Q(state=DeliveryState.SUBMITTING.value) | Q(authority=Authority.PIPELINE.value),
            ),
        ]
        indexes = [
            models.Index(
                name="resetdelivery_delivery_claim",
                fields=["channel", "expires_at", "id"],
                condition=Q(state=DeliveryState.PENDING.value),
            ),
            models.Index(
                name="resetdelivery_delivery_due",
                fields=["due_at"],
                condition=Q(state=DeliveryState.PENDING.value),
            ),
            models.Index(
                name="resetdelivery_delivery_leased",
                fields=["lease_expires_at"],
                condition=Q(state__in=["leased", "submitting"]),
            ),
            models.Index(
                name="resetdelivery_delivery_idle",
                fields=["channel", "expires_at", "id"],
                condition=Q(state__in=["pending", "waiting"]),
            ),
            models.Index(
                name="resetdelivery_delivery_waiting",
                fields=["arm_at"],
                condition=Q(state=DeliveryState.WAITING.value),
            ),
            models.Index(
                name="resetdelivery_delivery_ended",
                fields=["finished_at"],
                condition=Q(finished_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.channel} {self.reference}"
