from __future__ import annotations

from django.db import models


class AuditEntry(models.Model):
    """Who changed what, and why; it outlives whoever did it, so it refers to no row.

    ``action`` and ``target`` are words and names of ours, ``why`` is the operator's own text.
    """

    at = models.DateTimeField()
    who = models.CharField(max_length=150)
    action = models.CharField(max_length=64)
    target = models.CharField(max_length=128)
    why = models.CharField(max_length=255, default="")

    class Meta:
        verbose_name_plural = "audit entries"

    def __str__(self) -> str:
        return f"{self.action} {self.target}"
