from __future__ import annotations

from importlib.util import find_spec

from django.apps import AppConfig
from django.core.exceptions import ImproperlyConfigured


class ResetDeliveryConfig(AppConfig):
    """Registers the system checks, and keeps links out of what Django logs; nothing else at start."""

    name = "resetdelivery"
    label = "resetdelivery"
    verbose_name = "Password reset delivery"
    default_auto_field = "django.db.models.BigAutoField"

    def import_models(self) -> None:
        """Say why, where another package hides ours and no table could be imported."""
        if find_spec("notifications.outcome") is None:
            raise ImproperlyConfigured(
                "resetdelivery.E011: the import name 'notifications' leads to another package than the "
                "one that resetdelivery brings. Remove or rename the other one."
            )
        super().import_models()

    def ready(self) -> None:
        from resetdelivery import checks, log_scrubbing  # noqa: F401

        log_scrubbing.install()
