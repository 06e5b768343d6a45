from __future__ import annotations

from django.apps import AppConfig


class ResetDeliveryConfig(AppConfig):
    """Registers the system checks; nothing else happens at start."""

    name = "resetdelivery"
    label = "resetdelivery"
    verbose_name = "Password reset delivery"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from resetdelivery import checks  # noqa: F401
