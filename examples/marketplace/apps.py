from __future__ import annotations

from django.apps import AppConfig


class MarketplaceConfig(AppConfig):
    """A small shop with accounts, to show and to test password resets on."""

    name = "examples.marketplace"
    label = "marketplace"
    default_auto_field = "django.db.models.BigAutoField"
