from __future__ import annotations

from django.db import models


class LimitUse(models.Model):
    """One request under one limit: of an account, or of a destination over all accounts.

    ``key_digest`` is a keyed digest and begins with its key's id; what nobody has, has one too.
    Only what is ``counted`` uses the limit up: a request that was suppressed leaves a row, so
    that it does the same work as any other, and lengthens nobody's wait.
    """

    key_digest = models.CharField(max_length=80)
    used_at = models.DateTimeField()
    counted = models.BooleanField()

    class Meta:
        indexes = [models.Index(name="resetdelivery_limit_use", fields=["key_digest", "used_at"])]

    def __str__(self) -> str:
        return f"limit use {self.pk}"
