"""When periodic work last succeeded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from notifications.testing import ScriptedTransport
from resetdelivery import fallback, recovery, retention, tasks, upkeep
from resetdelivery.clock import database_now
from resetdelivery.domain.telemetry import Job
from resetdelivery.exceptions import StepFailed
from resetdelivery.management.commands import purge as purge_command
from resetdelivery.models import JobRun
from resetdelivery.poller import Poller
from resetdelivery.schedule import BEAT_SCHEDULE
from resetdelivery.telemetry import rollup
from resetdelivery.telemetry.jobs import recorded, succeeded
from resetdelivery.telemetry.rollup import RolledUp
from tests.conftest import the_delivery
from tests.steps import seconds, store

pytestmark = pytest.mark.django_db

ALWAYS = {Job.SWEEP, Job.EXPIRE_OVERDUE, Job.ROLL_UP, Job.PURGE}


def noted() -> set[Job]:
    return {Job(name) for name in JobRun.objects.values_list("name", flat=True)}


def fail(*_: Any, **__: Any) -> None:
    raise RuntimeError


def test_a_success_is_noted_at_the_databases_time() -> None:
    before = database_now(connection)
    succeeded(Job.SWEEP, took_seconds=1.5)
    after = database_now(connection)
    run = JobRun.objects.get(name="sweep")
    # SQLite's clock has milliseconds.
    assert before - seconds(0.001) <= run.succeeded_at <= after
    assert run.took_seconds == 1.5


def test_a_later_success_takes_the_place_of_the_one_before() -> None:
    succeeded(Job.SWEEP, took_seconds=1)
    JobRun.objects.update(succeeded_at=database_now(connection) - seconds(60))
    succeeded(Job.SWEEP, took_seconds=2)
    run = JobRun.objects.get()
    assert run.took_seconds == 2
    assert run.succeeded_at > database_now(connection) - seconds(59)


def test_noting_it_is_one_statement(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        succeeded(Job.SWEEP, took_seconds=1)


def test_what_raises_is_not_noted() -> None:
    with pytest.raises(RuntimeError), recorded(Job.SWEEP):
        fail()
    assert noted() == set()


def test_what_came_to_its_end_is_noted_with_its_time() -> None:
    with recorded(Job.PURGE):
        pass
    assert JobRun.objects.get().took_seconds >= 0


@pytest.mark.parametrize(
    ("task", "job"),
    [
        (tasks.sweep, Job.SWEEP),
        (tasks.expire_overdue, Job.EXPIRE_OVERDUE),
        (tasks.roll_up, Job.ROLL_UP),
        (tasks.purge, Job.PURGE),
    ],
    ids=lambda one: str(getattr(one, "name", one)),
)
def test_each_periodic_task_notes_its_success(task: Any, job: Job) -> None:
    task()
    assert noted() == {job}


def test_a_round_of_the_poller_notes_the_same(email: ScriptedTransport) -> None:
    Poller().run_once()
    assert noted() == ALWAYS


def test_where_recovery_is_off_no_sweep_is_noted(change: Callable[..., None]) -> None:
    change(RECOVERY="off")
    upkeep.sweep()
    assert noted() == set()


def test_a_sweep_that_only_observes_is_noted(change: Callable[..., None]) -> None:
    change(RECOVERY="observe")
    upkeep.sweep()
    assert noted() == {Job.SWEEP}


def test_a_pass_that_found_somebody_else_at_it_is_not_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollup, "roll_up", lambda *, using: RolledUp(busy=True))
    upkeep.roll_up()
    assert noted() == set()


def test_purging_by_hand_notes_no_pass_that_somebody_else_was_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purge_command, "roll_up", lambda *, using: RolledUp(busy=True))
    call_command("purge")
    assert noted() == {Job.PURGE}


@pytest.mark.parametrize(
    ("where", "name", "job"),
    [
        (recovery, "sweep", Job.SWEEP),
        (recovery, "expire_overdue", Job.EXPIRE_OVERDUE),
        (rollup, "roll_up", Job.ROLL_UP),
        (retention, "purge", Job.PURGE),
    ],
)
def test_one_that_fails_stops_no_other_and_no_delivery(
    where: Any, name: str, job: Job, email: ScriptedTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    store()
    monkeypatch.setattr(where, name, fail)
    with pytest.raises(StepFailed):
        Poller().run_once()
    assert noted() == ALWAYS - {job}
    assert the_delivery().claims == 1


def test_a_fallback_that_fails_stops_nothing_else(
    email: ScriptedTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    store()
    monkeypatch.setattr(fallback, "arm_due", fail)
    with pytest.raises(StepFailed):
        Poller().run_once()
    assert noted() == ALWAYS
    assert the_delivery().claims == 1


@pytest.mark.parametrize(("name", "period"), [("roll_up", 10.0), ("purge", 600.0)])
def test_beat_sends_it_to_the_control_worker(name: str, period: float) -> None:
    entry = BEAT_SCHEDULE[f"resetdelivery {name}"]
    assert (entry["task"], entry["schedule"]) == (f"resetdelivery.{name}", period)
    assert entry["options"] == {"queue": "control", "expires": period, "ignore_result": True}
