from __future__ import annotations

from django.db import models
from django.db.models import Q

from notifications.channels import Channel
from resetdelivery.models.choices import choices, values


class ProviderCircuit(models.Model):
    """Whether one provider of a channel is asked; shared by all workers.

    A row is made at a provider's first outage, so that there are at most as many as configured
    providers, and is written only when something changes: no healthy submission touches it.
    ``open_until`` is set exactly while the provider is passed over; a worker that probes moves it
    on first, so that nobody else probes meanwhile.
    """

    channel = models.CharField(max_length=16, choices=choices(Channel))
    provider = models.CharField(max_length=32)
    outages = models.PositiveIntegerField(default=0)
    open_until = models.DateTimeField(null=True)
    opened_at = models.DateTimeField(null=True)
    reason = models.CharField(max_length=32, default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(name="resetdelivery_circuit_once", fields=["channel", "provider"]),
            models.CheckConstraint(
                name="resetdelivery_circuit_channel", condition=Q(channel__in=values(Channel))
            ),
        ]

    def __str__(self) -> str:
        return f"{self.channel} {self.provider}"
