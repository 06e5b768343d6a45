"""The Django app that carries the message templates."""

from __future__ import annotations

from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    """Has templates and no models; its label is long so as not to meet a host project's own."""

    name = "notifications"
    label = "resetdelivery_notifications"
    verbose_name = "Notification messages"
    default_auto_field = "django.db.models.BigAutoField"
