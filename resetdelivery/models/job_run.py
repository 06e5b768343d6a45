from __future__ import annotations

from django.db import models

from resetdelivery.domain.telemetry import Job
from resetdelivery.models.choices import choices


class JobRun(models.Model):
    """When periodic work last came to its end without an error, and how long that took."""

    name = models.CharField(max_length=20, primary_key=True, choices=choices(Job))
    succeeded_at = models.DateTimeField()
    took_seconds = models.FloatField()

    def __str__(self) -> str:
        return self.name
