"""The Celery app of this project. Why each setting has its value: ``docs/celery.md``."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("resetdelivery")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@setup_logging.connect
def keep_our_logging(**_: Any) -> None:
    """Celery sets up no logging of its own where this signal has a receiver."""
