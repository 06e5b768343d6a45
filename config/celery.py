"""The Celery app of this project. Why each setting has its value: ``docs/celery.md``."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

PREFIX = "CELERY_"


class CelerySettings:
    """Of Django's settings, Celery's own, by the names that it has for them; read as they are asked for.

    Whoever may order workers about may ask them what they are set to (Flower does), and a worker tells
    all that its app was configured from. Only under these names does it keep the broker's password to
    itself.
    """

    def __dir__(self) -> list[str]:
        return [name.removeprefix(PREFIX).lower() for name in dir(settings) if name.startswith(PREFIX)]

    def __getattr__(self, name: str) -> Any:
        return getattr(settings, PREFIX + name.upper())


app = Celery("resetdelivery")
app.config_from_object(CelerySettings())
app.autodiscover_tasks()


@setup_logging.connect
def keep_our_logging(**_: Any) -> None:
    """Celery sets up no logging of its own where this signal has a receiver."""
