from __future__ import annotations

from django.db import models
from django.db.models import Q

from resetdelivery.models.api_client import ApiClient


class ApiKey(models.Model):
    """One credential of a client: its public id and the digest of its secret, never the secret.

    ``scopes`` are words of :class:`resetdelivery.domain.api_key.Scope`, ascending, with a space
    between. ``last_used_at`` is kept to the minute.
    """

    client = models.ForeignKey(ApiClient, on_delete=models.PROTECT, related_name="keys")
    key_id = models.CharField(max_length=16, unique=True)
    secret_digest = models.CharField(max_length=64)
    scopes = models.CharField(max_length=128)
    created_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = "API key"
        constraints = [
            models.CheckConstraint(name="resetdelivery_api_key_scoped", condition=~Q(scopes="")),
        ]

    def __str__(self) -> str:
        return self.key_id
