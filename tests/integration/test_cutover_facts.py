"""What a step forward sees: shadows, delays, health, pauses, recovery and its verifications."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError

from notifications.channels import Channel
from notifications.outcome import OutcomeKind
from resetdelivery.cutover import facts
from resetdelivery.cutover.steps import preview
from resetdelivery.domain.telemetry import CountedEvent, Job
from resetdelivery.models import AuditEntry
from tests import counted
from tests.rollouts import EMAIL, move, put, ready, verified
from tests.steps import pause, seconds, store

pytestmark = pytest.mark.django_db

Change = Callable[..., None]


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
    counted.events({CountedEvent.SHADOW_FINISHED: 500}, label="cancelled")
    assert missing("live", 50) == []


@pytest.mark.parametrize("ending", ["failed", "expired"])
def test_shadows_that_could_not_be_sent_stand_against_a_first_slice(ending: str) -> None:
    put("shadow")
    ready()
    counted.events({CountedEvent.SHADOW_FINISHED: 2}, label=ending)
    assert missing("live", 50) == ["sendable"]


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
    counted.attempts(OutcomeKind.PERMANENT, [0.2] * 10)
    assert missing("live", 200) == ["health"]


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


@pytest.mark.parametrize(("days", "names"), [(6, []), (8, ["recovery"])])
def test_a_verification_counts_for_a_while(change: Change, days: int, names: list[str]) -> None:
    put("shadow")
    ready()
    AuditEntry.objects.all().delete()
    change(RECOVERY="observe")
    verified("observe", ago=dt.timedelta(days=days))
    assert missing("live", 50) == names


def test_numbers_that_cannot_be_read_refuse_a_step_forward_without_the_databases_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def away(*_: Any, **__: Any) -> None:
        raise OperationalError("connection to server at db.internal failed")

    put("shadow")
    monkeypatch.setattr(facts, "delivery_health", away)
    with pytest.raises(facts.NothingSeen, match=r"\(OperationalError\)") as caught:
        move("live", 50)
    assert "internal" not in str(caught.value)
