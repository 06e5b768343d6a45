from __future__ import annotations

from django.db import models


class ApiClient(models.Model):
    """A service that may call the internal HTTP boundary, by the name that its keys stand for.

    The name is also the ``client`` of the idempotency keys that it sends.
    """

    name = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()

    class Meta:
        verbose_name = "API client"

    def __str__(self) -> str:
        return self.name
