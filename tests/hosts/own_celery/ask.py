"""Asks for one reset inside a transaction, as a view would; prints what Celery made of our tasks."""

from __future__ import annotations

import json
import sys
from typing import Any

import django
from django.core.management import call_command
from django.db import transaction

OPTIONS = (
    "acks_late",
    "reject_on_worker_lost",
    "ignore_result",
    "serializer",
    "track_started",
    "max_retries",
)


def main() -> dict[str, Any]:
    """What the test wants to know of this process."""
    django.setup()
    call_command("migrate", verbosity=0)
    rows = ask()
    return {"options": task_options(), "rows": rows}


def ask() -> list[tuple[Any, ...]]:
    """One reset on both channels; its deliveries once the transaction is over."""
    from django.contrib.auth import get_user_model

    from resetdelivery.models import Delivery
    from resetdelivery.services import request_reset
    from tests.hosts.own_celery import celery  # noqa: F401  becomes the current app

    get_user_model().objects.create_user("planted-name", "planted@shop.example", "old password")
    with transaction.atomic():
        request_reset(submitted="planted-name", channels=["email", "sms"], idempotency_key="planted-key")
    return list(Delivery.objects.order_by("pk").values_list("channel", "pk", "state"))


def task_options() -> dict[str, list[Any]]:
    """Our tasks as the host's app has registered them."""
    from tests.hosts.own_celery.celery import app

    app.loader.import_default_modules()
    ours = {name: task for name, task in app.tasks.items() if name.startswith("resetdelivery.")}
    return {name: [getattr(task, option) for option in OPTIONS] for name, task in ours.items()}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main()) + "\n")
