"""What is held, how old it is and why, and the two commands."""

from __future__ import annotations

import datetime as dt
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from notifications.outcome import Outcome, OutcomeKind
from resetdelivery import upkeep
from resetdelivery.domain.retention import PurgeStep
from resetdelivery.management.commands import purge as command
from resetdelivery.models import Attempt, IdempotencyKey, JobRun, ResetIntent
from resetdelivery.retention.policy import POLICY
from resetdelivery.retention.purge import STEPS
from resetdelivery.retention.report import Because, Holding, report
from resetdelivery.retention.rounds import Round
from resetdelivery.services import request_reset
from tests.integration.conftest import Settings
from tests.moved_clock import Clock, moved_clock
from tests.steps import answer, record, store, take

pytestmark = pytest.mark.django_db

__all__ = ["moved_clock"]

HOUR = dt.timedelta(hours=1)
DAY = dt.timedelta(days=1)
MARK = "canary"


def sent() -> Attempt:
    (delivery,) = store()
    answer(record(take()), Outcome(kind=OutcomeKind.ACCEPTED, provider_reference=MARK))
    return Attempt.objects.get(delivery=delivery)


def holding(name: str) -> Holding:
    (found,) = (one for one in report().holdings if one.rule.name == name)
    return found


def run(name: str, *options: str) -> tuple[str, str]:
    """What a command writes to standard output and standard error."""
    out, err = io.StringIO(), io.StringIO()
    call_command(name, *options, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_there_is_one_holding_for_each_rule() -> None:
    assert [one.rule for one in report().holdings] == list(POLICY)


def test_what_is_young_is_held_in_its_time() -> None:
    attempt = sent()
    found = holding("attempts")
    assert (found.rows, found.oldest, found.past) == (1, attempt.started_at, 0)
    assert found.because is Because.IN_TIME


def test_what_is_scrubbed_is_held_no_more(moved_clock: Clock) -> None:
    sent()
    assert holding("account_refs").rows == 1
    moved_clock.pass_by(DAY + HOUR)
    upkeep.purge()
    assert holding("account_refs").rows == 0


def test_a_decoys_pseudonym_is_no_accounts_reference() -> None:
    request_reset(submitted="nobody@example.com", channels=["email"])
    assert (holding("decoys").rows, holding("account_refs").rows) == (1, 0)


def test_what_is_past_its_time_waits_for_the_next_purge(moved_clock: Clock) -> None:
    sent()
    moved_clock.pass_by(DAY + HOUR)
    found = holding("account_refs")
    assert (found.past, found.because, found.is_overdue()) == (1, Because.NEXT_PURGE, False)


def test_what_is_a_day_late_is_overdue(moved_clock: Clock) -> None:
    sent()
    moved_clock.pass_by(2 * DAY + HOUR)
    found = holding("account_refs")
    assert (found.because, found.is_overdue()) == (Because.OVERDUE, True)
    assert found.late // HOUR == 24 + 1


def test_what_is_not_counted_waits_for_the_rollup(moved_clock: Clock) -> None:
    sent()
    moved_clock.pass_by(7 * DAY + HOUR)
    assert holding("attempts").because is Because.WAITS_FOR_ROLLUP
    upkeep.roll_up()
    assert holding("attempts").because is Because.NEXT_PURGE


def test_what_has_no_end_of_its_own_stays() -> None:
    assert (holding("api_keys").because, holding("deliveries").because) == (Because.STAYS, Because.STAYS)


def test_the_report_is_a_table_and_ends_well_while_the_policy_is_kept() -> None:
    sent()
    out, _ = run("retention_report")
    lines = out.splitlines()
    assert len(lines) == 2 + len(POLICY)
    (line,) = (one for one in lines if one.startswith("Attempt: attempts"))
    assert line.split()[2] == "1"
    assert "7 days" in line


def test_the_report_fails_where_something_is_overdue(moved_clock: Clock) -> None:
    sent()
    moved_clock.pass_by(3 * DAY)
    with pytest.raises(CommandError, match=r"account_refs") as failed:
        run("retention_report")
    assert failed.value.returncode == 1


def test_the_report_for_programs_says_why_each_thing_is_held() -> None:
    sent()
    document = json.loads(run("retention_report", "--json")[0])
    assert [one["name"] for one in document["held"]] == [rule.name for rule in POLICY]
    (found,) = (one for one in document["held"] if one["name"] == "provider_references")
    assert (found["rows"], found["keep_seconds"], found["then"]) == (1, 86400.0, "scrubbed")
    assert found["why"]


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_the_report_shows_nothing_of_what_is_held(options: list[str], account: Any) -> None:
    sent()
    request_reset(account_ref=MARK, channels=["email"], idempotency_key=MARK, client=MARK)
    store()
    assert IdempotencyKey.objects.filter(client=MARK).exists()
    assert MARK not in "".join(run("retention_report", *options))


def test_the_command_rolls_up_and_purges(moved_clock: Clock) -> None:
    sent()
    moved_clock.pass_by(31 * DAY)
    out, _ = run("purge")
    assert not ResetIntent.objects.exists()
    assert [line.split() for line in out.splitlines() if line.startswith("intents")] == [["intents", "1"]]


def test_the_command_notes_that_it_succeeded() -> None:
    run("purge")
    assert set(JobRun.objects.values_list("name", flat=True)) == {"roll_up", "purge"}


@pytest.mark.parametrize(("options", "left"), [([], 300), (["--all"], 0)])
def test_the_command_stops_after_a_bound_unless_it_is_to_do_all(
    options: list[str], left: int, moved_clock: Clock, change: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(PURGE_BATCH=1)
    store(400, state="expired", finished_at=dt.datetime(2020, 1, 1, tzinfo=dt.UTC))
    ResetIntent.objects.update(state="closed", closed_at=dt.datetime(2020, 1, 1, tzinfo=dt.UTC))
    run("purge", *options)
    assert ResetIntent.objects.filter(scrubbed_at=None).count() == left


def test_the_command_tells_how_far_it_is(moved_clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "LINE_SECONDS", 0.0)
    sent()
    moved_clock.pass_by(31 * DAY)
    _, err = run("purge")
    assert "intents: 1 rows" in err.splitlines()


def test_the_command_says_where_something_is_not_counted_yet(moved_clock: Clock, change: Settings) -> None:
    change(KEEP_ATTEMPTS=dt.timedelta(0))
    sent()
    moved_clock.pass_by(dt.timedelta(minutes=5))
    _, err = run("purge")
    assert "not counted yet" in err


def test_a_failed_step_fails_the_command_after_the_others(
    moved_clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Round) -> Iterator[int]:
        raise ValueError(MARK)

    sent()
    moved_clock.pass_by(31 * DAY)
    monkeypatch.setitem(STEPS, PurgeStep.ATTEMPTS, broken)
    with pytest.raises(CommandError, match=r"ValueError in broken") as failed:
        run("purge")
    assert MARK not in str(failed.value)
    assert not ResetIntent.objects.exists()
    assert not JobRun.objects.filter(name="purge").exists()


@pytest.mark.parametrize("name", ["purge", "retention_report"])
def test_an_unknown_database_is_named_by_its_length_only(name: str) -> None:
    with pytest.raises(CommandError, match=r"\(6 characters\)"):
        run(name, "--database", MARK)
