from __future__ import annotations

from django.db import models
from django.db.models import Q


class RollupState(models.Model):
    """One row: all minutes before ``closed_before`` are in the lifetime totals, and final.

    Whoever rolls up holds its lock. Null until the first minute was closed.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    closed_before = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.CheckConstraint(name="resetdelivery_rollup_one_state", condition=Q(id=1))]

    def __str__(self) -> str:
        return f"closed before {self.closed_before}"
