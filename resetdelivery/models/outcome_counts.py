from __future__ import annotations

from django.db import models

from notifications.channels import Channel
from notifications.outcome import OutcomeKind
from resetdelivery.models.choices import choices


class OutcomeCounts(models.Model):
    """Counts of attempts that ended with one outcome on one channel and template version.

    The lists hold the counts of the buckets that :mod:`resetdelivery.domain.telemetry` bounds.
    ``remaining`` is the share of a delivery's life that was left as its attempt ended,
    ``lease_used`` the share of the claim's lease that was used up as the attempt was recorded.
    """

    channel = models.CharField(max_length=16, choices=choices(Channel))
    outcome = models.CharField(max_length=16, choices=choices(OutcomeKind))
    template_version = models.CharField(max_length=16)
    attempts = models.BigIntegerField(default=0)
    queue_delay_counts = models.JSONField(default=list)
    queue_delay_seconds = models.FloatField(default=0)
    duration_counts = models.JSONField(default=list)
    duration_seconds = models.FloatField(default=0)
    remaining_counts = models.JSONField(default=list)
    remaining_ratio = models.FloatField(default=0)
    lease_used_counts = models.JSONField(default=list)
    lease_used_ratio = models.FloatField(default=0)
    segments_counts = models.JSONField(default=list)

    class Meta:
        abstract = True


class OutcomeMinute(OutcomeCounts):
    """The attempts that started within one minute, counted anew from their rows until it is closed.

    ``kept`` rows count attempts that were deleted before that; they are added to, not counted anew.
    """

    minute = models.DateTimeField()
    kept = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                name="resetdelivery_outcome_minute",
                fields=["minute", "channel", "outcome", "template_version", "kept"],
            )
        ]

    def __str__(self) -> str:
        return f"{self.minute:%Y-%m-%d %H:%M} {self.channel} {self.outcome}"


class OutcomeTotal(OutcomeCounts):
    """All attempts of closed minutes, ever: what retention never lowers."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                name="resetdelivery_outcome_total", fields=["channel", "outcome", "template_version"]
            )
        ]

    def __str__(self) -> str:
        return f"{self.channel} {self.outcome}"
