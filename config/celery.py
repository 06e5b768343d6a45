"""The Celery app of this project. Why each setting has its value: ``docs/celery.md``."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("resetdelivery")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
