from __future__ import annotations

from django.db import models

from resetdelivery.models.intent import ResetIntent


class IdempotencyKey(models.Model):
    """One caller's key for one request; several keys may lead to one intent.

    Both digests are keyed and begin with their key's id; the raw key is stored nowhere.
    """

    client = models.CharField(max_length=64)
    key_digest = models.CharField(max_length=80)
    request_digest = models.CharField(max_length=80)
    intent = models.ForeignKey(ResetIntent, on_delete=models.CASCADE, related_name="idempotency_keys")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(name="resetdelivery_key_once", fields=["client", "key_digest"])
        ]

    def __str__(self) -> str:
        return f"key of {self.client}"
