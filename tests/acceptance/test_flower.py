"""What on-call sees in Flower, and what a worker logs, of a task that fails with personal data."""

from __future__ import annotations

import contextlib
import http.client
import json
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import get_user_model

from examples.demo import ports
from resetdelivery import broker
from resetdelivery.dispatch import DELIVER_TASK
from resetdelivery.services import request_reset
from tests.acceptance.harness.stage import Stage
from tests.acceptance.harness.ticks import tick_until
from tests.acceptance.harness.waiting import eventually

pytestmark = pytest.mark.acceptance

LOUD = "tests.acceptance.harness.loud_directory.LoudDirectory"
PLANTED = "planted-to-be-seen"


def asked(port: int, path: str) -> Any:
    """Flower's answer, or nothing while it does not answer yet."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/{path}", timeout=5) as answer:
            return json.load(answer)
    except (OSError, http.client.HTTPException, ValueError):
        return {}


def tasks_in_state(port: int, state: str) -> Callable[[], bool]:
    return lambda: any(task["state"] == state for task in asked(port, "tasks").values())


def planted_shows(port: int) -> Callable[[], bool]:
    """Sends a planted argument again each time that Flower does not show it yet."""

    def shows() -> bool:
        with contextlib.suppress(broker.BrokerUnavailable):
            broker.publish(DELIVER_TASK, [PLANTED, []], queue="email")
        return PLANTED in json.dumps(asked(port, "tasks"))

    return shows


def test_flower_and_the_worker_log_show_nothing_personal_of_a_task_that_failed(stage: Stage) -> None:
    buyer = get_user_model().objects.create_user(
        "marked.name", pk=731_002_993, email="marked.box@example.com", phone="+4915129876543", password="x"
    )
    port = ports.pick()
    worker = stage.worker(DIRECTORY=LOUD)
    flower = stage.flower(port)
    # What is planted is seen; so, from here on, Flower hears of every task.
    eventually(planted_shows(port), "a planted argument in Flower")
    request_reset(account_ref=str(buyer.pk), channels=["email", "sms"], idempotency_key="marked-key-17")
    tick_until(tasks_in_state(port, "FAILURE"), "a failed task in Flower")
    seen = json.dumps(asked(port, "tasks?limit=1000")) + worker.log.read_text() + flower.log.read_text()
    assert "LookupError" in seen
    marked = [str(buyer.pk), "marked.box", "15129876543", buyer.password, "marked-key-17", "marked.name"]
    assert [word for word in marked if word in seen] == []
