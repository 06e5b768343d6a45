"""Real workers in production's form: after Celery's banner each line is JSON, and none tells too much."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth import get_user_model

from notifications.channels import Channel
from resetdelivery import broker
from resetdelivery.dispatch import DELIVER_TASK
from resetdelivery.models import Attempt
from resetdelivery.services import request_reset
from tests.acceptance.harness.processes import Running
from tests.acceptance.harness.stage import Stage
from tests.acceptance.harness.waiting import eventually

pytestmark = pytest.mark.acceptance

LOUD = "tests.acceptance.harness.loud_directory.LoudDirectory"
UNKNOWN = "marked-argument-1618"
PRINTED = {"", "worker: Warm shutdown (MainProcess)"}


def told(running: Running) -> list[dict[str, Any]]:
    """The lines from the worker's connection on: what comes before them has Celery's banner among it.

    That, and its word on a shutdown, are printed and not logged.
    """
    lines = running.log.read_text().splitlines()
    first = next(number for number, line in enumerate(lines) if '"event":"Connected to ' in line)
    return [json.loads(line) for line in lines[first:] if line not in PRINTED]


def test_a_worker_writes_json_and_an_attempt_is_a_line_of_it(stage: Stage) -> None:
    buyer = get_user_model().objects.create_user("marked.name", email="marked.box@example.com", password="x")
    worker = stage.worker("email", LOG_FORMAT="json")
    request_reset(account_ref=str(buyer.pk), channels=[Channel.EMAIL])
    eventually(lambda: Attempt.objects.filter(outcome="accepted").exists(), "an accepted attempt")
    worker.wait_until_log_says('"event":"attempt"')
    # Celery knows no task by this name, and says so with all of the message.
    broker.publish(UNKNOWN, [UNKNOWN], queue="email")
    worker.wait_until_log_says("Received unregistered task of type")
    worker.ask_to_stop()
    worker.exit_code()
    lines = told(worker)
    (attempt,) = [line for line in lines if line["event"] == "attempt"]
    assert (attempt["channel"], attempt["outcome"]) == ("email", "accepted")
    assert {"timestamp", "level", "event"} <= set.intersection(*map(set, lines))
    text = worker.log.read_text()
    assert [word for word in ("marked.box", UNKNOWN, "example.com") if word in text] == []


def test_a_task_that_fails_is_told_with_its_name_and_the_class_of_its_error(stage: Stage) -> None:
    buyer = get_user_model().objects.create_user("marked.name", email="marked.box@example.com", password="x")
    worker = stage.worker("email", LOG_FORMAT="json", DIRECTORY=LOUD)
    request_reset(account_ref=str(buyer.pk), channels=[Channel.EMAIL])
    worker.wait_until_log_says("raised unexpected")
    (line,) = [line for line in told(worker) if "raised unexpected" in line["event"]]
    assert line["event"].startswith(f"Task {DELIVER_TASK}[")
    assert line["event"].endswith("] raised unexpected: <str>")
    assert "(LookupError in " in line["exception"]
    assert "marked.box" not in worker.log.read_text()
