"""What a step forward sees: shadows, delays, health, pauses, recovery and its verifications."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError

from notifications.channels import Channel
from notifications.outcome import OutcomeKind
from notifications.testing import ScriptedTransport
from resetdelivery.cutover import facts, status, stranded, verification
from resetdelivery.cutover.steps import preview
from resetdelivery.delivery import deliver
from resetdelivery.domain.rollout import Position
from resetdelivery.domain.telemetry import CountedEvent, Job
from resetdelivery.models import AuditEntry, Delivery, JobRun
from resetdelivery.services import request_reset
from resetdelivery.telemetry.rollup import roll_up
from tests import counted
from tests.moved_clock import Clock, moved_clock
from tests.rollouts import EMAIL, move, put, ready, stands, trail, verified
from tests.steps import pause, seconds, store

pytestmark = pytest.mark.django_db

__all__ = ["moved_clock"]

Change = Callable[..., None]


@pytest.fixture(autouse=True)
def _short_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stranded, "ABANDONED_LEASE_SECONDS", 0.05)
    monkeypatch.setattr(verification, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(verification, "SWEEP_SECONDS", 0.02)


def missing(mode: str, per_mille: int = 1000) -> list[str]:
    """The preconditions of a step that do not hold now."""
    found = preview(EMAIL, mode=mode, slice_per_mille=per_mille)
    return [one.name for one in found if not one.ok]


def test_nothing_is_missing_where_all_is_well() -> None:
    put("shadow")
    ready()
    assert missing("live", 50) == []


def test_shadows_without_a_destination_stand_against_nothing() -> None:
    put("shadow")
    ready()
    counted.events({CountedEvent.SHADOW_FINISHED: 500}, label="failed")
    counted.events({CountedEvent.SHADOW_REFUSED: 500}, label="no_destination")
    assert missing("live", 50) == []


@pytest.mark.parametrize("ending", ["cancelled", "failed", "expired"])
@pytest.mark.parametrize(
    "reason",
    [
        *("superseded", "withdrawn", "unknown_account", "account_changed", "account_inactive", "not_needed"),
        *("account_limit", "destination_limit", "sms_prefix_limit", "sms_budget_spent"),
    ],
)
def test_shadows_that_nobody_should_have_got_stand_against_nothing(ending: str, reason: str) -> None:
    put("shadow")
    ready()
    counted.events({CountedEvent.SHADOW_FINISHED: 500}, label=ending)
    counted.events({CountedEvent.SHADOW_REFUSED: 500}, label=reason)
    assert missing("live", 50) == []


@pytest.mark.parametrize("reason", ["no_useful_time_left", "invalid_message", "claims_used_up"])
@pytest.mark.parametrize("beside", ["no_destination", "destination_limit"])
def test_shadows_that_could_not_be_sent_stand_against_a_first_slice(reason: str, beside: str) -> None:
    put("shadow")
    ready()
    counted.events({CountedEvent.SHADOW_REFUSED: 2}, label=reason)
    counted.events({CountedEvent.SHADOW_REFUSED: 500}, label=beside)
    assert missing("live", 50) == ["sendable"]


def test_a_number_over_its_limit_that_several_share_stands_against_nothing(
    make_account: Callable[..., Any], moved_clock: Clock, sms: ScriptedTransport, change: Change
) -> None:
    change(DESTINATION_PER_HOUR=2, ROLLOUT_MIN_SHADOWED=2)
    put("shadow", channel=Channel.SMS)
    for _ in range(6):
        account = make_account(phone="+4915112345678")
        request_reset(account_ref=str(account.pk), channels=["email", "sms"])
        deliver(Channel.SMS, fill_at_once=True)
    roll_up()
    told = {one.name: one.saw for one in preview(Channel.SMS, mode="live", slice_per_mille=50)}
    assert told["shadowed"] == "2 shadows that would have been sent"
    assert told["sendable"] == "0 of 2 shadows expired or failed"
    assert Delivery.objects.filter(channel="sms", state="failed", reason="destination_limit").count() == 4


def test_what_was_counted_before_the_window_does_not_count() -> None:
    put("shadow")
    ready(shadows=0)
    for event, label in ((CountedEvent.SHADOW_FINISHED, "shadowed"), (CountedEvent.SHADOW_DELAY, "1")):
        counted.events({event: 100}, label=label, ago=61)
    assert missing("live", 50) == ["shadowed", "queue delay"]


def test_delays_of_ours_and_of_shadows_are_one_queue() -> None:
    put("live", 50)
    ready(shadows=19)
    assert missing("live", 200) == ["measured"]
    counted.attempts(OutcomeKind.ACCEPTED, [0.2])
    assert missing("live", 200) == []
    counted.attempts(OutcomeKind.TRANSIENT, [800.0] * 2)
    assert missing("live", 200) == ["queue delay"]


def test_another_channels_numbers_do_not_count() -> None:
    put("shadow")
    ready(Channel.SMS)
    assert missing("live", 50) == ["shadowed", "queue delay", "recovery"]


@pytest.mark.parametrize("authority", ["pipeline", "shadow"])
def test_a_delivery_that_waits_too_long_stands_against_it_whoever_sends_it(authority: str) -> None:
    put("shadow")
    ready()
    store(overdue=230, authority=authority)
    assert "queue age" in missing("live", 50)


def test_the_shortest_life_that_may_be_asked_for_sets_how_long_anything_may_wait(change: Change) -> None:
    put("shadow")
    ready()
    store(overdue=5)
    assert missing("live", 50) == []
    change(MIN_LIFETIME=seconds(16))
    assert missing("live", 50) == ["queue age"]


def test_many_attempts_that_are_not_accepted_stand_against_a_larger_slice() -> None:
    put("live", 50)
    ready()
    counted.attempts(OutcomeKind.PERMANENT, [0.2] * 20)
    assert missing("live", 200) == ["health"]


def test_a_larger_slice_needs_messages_of_ours_that_were_accepted_within_the_window() -> None:
    put("live", 50)
    ready(accepted=0)
    counted.attempts(OutcomeKind.ACCEPTED, [0.2], ago=61)
    assert missing("live", 1000) == ["accepted"]
    counted.attempts(OutcomeKind.ACCEPTED, [0.2])
    assert missing("live", 1000) == []


@pytest.mark.parametrize(
    ("position", "to"), [(("legacy", 1000), ("shadow", 1000)), (("live", 800), ("live", 1000))]
)
def test_where_nobody_sweeps_no_step_forward_is_made(position: tuple[str, int], to: tuple[str, int]) -> None:
    put(*position)
    ready()
    assert missing(*to) == []
    JobRun.objects.filter(name=Job.SWEEP).delete()
    assert missing(*to) == ["health"]
    told = {one.name: one.saw for one in preview(EMAIL, mode=to[0], slice_per_mille=to[1])}
    assert told["health"] == "sweep_missing"


@pytest.mark.parametrize(
    "fields", [{}, {"pause_reason": "misconfigured"}, {"paused": False, "probing": True}]
)
def test_a_paused_channel_and_one_that_is_probed_go_nowhere(fields: dict[str, Any]) -> None:
    put("shadow")
    ready()
    pause(EMAIL, **fields)
    assert missing("live", 50) == ["pause"]


def test_old_counts_say_nothing() -> None:
    put("shadow")
    ready()
    counted.succeeded(Job.ROLL_UP, 200)
    assert missing("live", 50) == ["counts"]


@pytest.mark.parametrize(
    ("recovery", "names"), [("off", ["recovery"]), ("observe", ["recovery"]), ("on", [])]
)
def test_everybody_needs_a_recovery_that_acts(change: Change, recovery: str, names: list[str]) -> None:
    put("live", 50)
    ready()
    change(RECOVERY=recovery)
    assert missing("live", 1000) == names


@pytest.mark.parametrize(
    ("observe_days", "on_days", "names"),
    [(400, 6, []), (400, 8, ["recovery"]), (1, 2, ["recovery"])],
)
def test_that_recovery_watched_before_it_acted_need_not_be_shown_again(
    observe_days: int, on_days: int, names: list[str]
) -> None:
    put("live", 800)
    ready()
    AuditEntry.objects.all().delete()
    verified("observe", ago=dt.timedelta(days=observe_days))
    verified("on", ago=dt.timedelta(days=on_days))
    assert missing("live", 1000) == names


def test_a_recovery_that_is_watched_anew_takes_nothing_back() -> None:
    put("live", 800)
    ready()
    verified("observe")
    assert missing("live", 1000) == []


@pytest.mark.parametrize("recovery", ["observe", "on"])
def test_a_sweep_of_the_commands_own_proves_recovery_for_a_slice_and_not_for_everybody(
    recovery: str, change: Change
) -> None:
    put("live", 50)
    ready()
    AuditEntry.objects.filter(target__endswith=recovery).delete()
    change(RECOVERY=recovery)
    verification.verify(EMAIL, who="ada", number=2, timeout=seconds(5), sweep_here=True)
    change(RECOVERY="on")
    counted.succeeded(Job.SWEEP)
    if recovery == "observe":
        verified("on")
    assert missing("live", 200) == []
    assert missing("live", 1000) == ["recovery"]


@pytest.mark.parametrize(("days", "names"), [(6, []), (8, ["recovery"])])
def test_a_verification_counts_for_a_while(change: Change, days: int, names: list[str]) -> None:
    put("shadow")
    ready()
    AuditEntry.objects.all().delete()
    change(RECOVERY="observe")
    verified("observe", ago=dt.timedelta(days=days))
    assert missing("live", 50) == names


def away(*_: Any, **__: Any) -> None:
    raise OperationalError("connection to server at db.internal failed")


#: Everything that is read for a step.
READS = ["delivery_health", "database_now", "_counted", "_delays", "_verified"]


@pytest.mark.parametrize("read", READS)
def test_numbers_that_cannot_be_read_refuse_a_step_forward_without_the_databases_words(
    monkeypatch: pytest.MonkeyPatch, read: str
) -> None:
    put("shadow")
    monkeypatch.setattr(facts, read, away)
    with pytest.raises(facts.NothingSeen, match=r"\(OperationalError\)") as caught:
        move("live", 50)
    assert "internal" not in str(caught.value)


@pytest.mark.parametrize("read", READS)
def test_an_override_gets_past_numbers_that_cannot_be_read_and_its_entry_says_so(
    monkeypatch: pytest.MonkeyPatch, read: str
) -> None:
    put("shadow")
    monkeypatch.setattr(facts, read, away)
    changed = move("live", 50, override=True, why="the old one is gone")
    assert [one.name for one in changed.findings] == ["nothing seen"]
    assert stands() == Position("live", 50)
    assert [why for *_, why in trail()] == ["override: the old one is gone (nothing seen)"]


def test_a_pause_whose_entry_cannot_be_read_is_told_without_the_databases_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pause(EMAIL)
    monkeypatch.setattr(status, "_pause", away)
    with pytest.raises(facts.NothingSeen) as caught:
        status.status()
    assert "internal" not in str(caught.value)
