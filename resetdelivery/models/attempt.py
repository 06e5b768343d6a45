from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q

from notifications.outcome import OutcomeKind
from notifications.receipts.receipt import ReceiptVerdict
from resetdelivery.models.choices import choices, values
from resetdelivery.models.delivery import Delivery


class Attempt(models.Model):
    """One try, written before the I/O so that a crash leaves evidence.

    ``outcome`` is empty while the try runs; once ``ambiguous`` it stays so, and what a worker
    learns after it lost its lease goes to ``late_outcome``. ``receipt`` is what the provider said
    later, the last word by rank, and ``receipt_at`` when we heard it. ``claimed_at`` is when the claim
    that it belongs to was made, and ``lease_used`` the share of that claim's lease that had gone by
    as the attempt was recorded.
    """

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="attempt_rows")
    number = models.PositiveIntegerField()
    reference = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    token = models.PositiveIntegerField()
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=16, default="", choices=choices(OutcomeKind))
    late_outcome = models.CharField(max_length=16, default="", choices=choices(OutcomeKind))
    reason = models.CharField(max_length=32, default="")
    queue_delay_seconds = models.FloatField()
    remaining_seconds = models.FloatField()
    duration_seconds = models.FloatField(null=True)
    transport = models.CharField(max_length=32)
    worker = models.CharField(max_length=64)
    provider_reference = models.CharField(max_length=255, default="")
    # Defaults of the database's own: a worker that runs the last version's code inserts without them.
    receipt = models.CharField(max_length=16, default="", db_default="", choices=choices(ReceiptVerdict))
    receipt_reason = models.CharField(max_length=32, default="", db_default="")
    receipt_at = models.DateTimeField(null=True)
    claimed_at = models.DateTimeField(null=True)
    lease_used = models.FloatField(null=True)
    late_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(name="resetdelivery_attempt_once", fields=["delivery", "number"]),
            models.CheckConstraint(
                name="resetdelivery_attempt_outcome",
                condition=Q(outcome__in=["", *values(OutcomeKind)])
                & Q(late_outcome__in=["", *values(OutcomeKind)]),
            ),
            models.CheckConstraint(
                name="resetdelivery_attempt_receipt",
                condition=Q(receipt="", receipt_at=None)
                | Q(receipt__in=values(ReceiptVerdict), receipt_at__isnull=False),
            ),
        ]
        indexes = [
            models.Index(name="resetdelivery_attempt_started", fields=["started_at"]),
            models.Index(
                name="resetdelivery_attempt_told",
                fields=["receipt_at"],
                condition=Q(receipt_at__isnull=False),
            ),
            models.Index(
                name="resetdelivery_attempt_late", fields=["late_at"], condition=Q(late_at__isnull=False)
            ),
            models.Index(
                name="resetdelivery_attempt_named",
                fields=["started_at"],
                condition=~Q(provider_reference=""),
            ),
        ]

    def __str__(self) -> str:
        return f"attempt {self.number} ({self.reference})"
