"""Where channels stand, and how they came there."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from notifications.channels import Channel
from resetdelivery import audit
from resetdelivery.clock import database_now
from resetdelivery.cutover.status import ChannelStatus, history, status
from resetdelivery.cutover.steps import pause, resume
from resetdelivery.domain.health import HealthReason, Verdict
from resetdelivery.domain.rollout import Position
from resetdelivery.domain.telemetry import CountedEvent
from resetdelivery.models import JobRun
from tests import counted, steps
from tests.rollouts import EMAIL, move, put, ready, verified
from tests.steps import seconds, store

pytestmark = pytest.mark.django_db


def of(channel: Channel = EMAIL) -> ChannelStatus:
    return next(one for one in status() if one.channel is channel)


def test_every_configured_channel_has_a_status_by_name() -> None:
    assert [one.channel for one in status()] == [Channel.EMAIL, Channel.SMS]


def test_a_channel_that_was_never_set_is_live_for_everybody_and_has_no_next_step() -> None:
    found = of()
    assert (found.position, found.next_position, found.next_step) == (Position("live", 1000), None, "")
    assert (found.paused, found.verified, found.admitted, found.next_findings) == (False, {}, {}, ())


def test_a_status_tells_what_was_counted_within_the_window() -> None:
    put("live", 50)
    ready(shadows=30)
    counted.events({CountedEvent.ADMITTED: 7}, label="pipeline")
    counted.events({CountedEvent.ADMITTED: 40}, label="shadow")
    counted.events({CountedEvent.ADMITTED: 900}, label="shadow", ago=61)
    counted.events({CountedEvent.SHADOW_FINISHED: 2}, label="expired")
    store(overdue=3)
    found = of()
    assert (found.admitted, found.shadowed) == ({"pipeline": 7, "shadow": 40}, {"shadowed": 30, "expired": 2})
    assert found.oldest_due_seconds is not None
    assert found.oldest_due_seconds >= 3
    assert (found.delays, found.delay_p95_seconds, found.lifetime_seconds) == (30, 0.975, 600)
    assert (found.verdict, found.reasons) == (Verdict.OK, ())


def test_a_status_tells_the_installations_reasons_beside_the_channels(change: Callable[..., None]) -> None:
    ready()
    change(RECOVERY="observe")
    steps.pause(EMAIL)
    assert (of().verdict, of().reasons) == (
        Verdict.DEGRADED,
        (HealthReason.RECOVERY_OBSERVES, HealthReason.PAUSED_BY_OPERATOR),
    )
    change(RECOVERY="on")
    JobRun.objects.all().delete()
    sms = of(Channel.SMS)
    assert (sms.verdict, HealthReason.SWEEP_MISSING in sms.reasons) == (Verdict.FAILING, True)


def test_the_next_step_comes_with_what_it_asks_for() -> None:
    put("shadow")
    ready()
    found = of()
    assert (found.next_position, found.next_step) == (
        Position("live", 50),
        "rollout set email live --slice 50",
    )
    assert [one.ok for one in found.next_findings] == [True] * len(found.next_findings)


def test_the_latest_verification_of_each_kind_is_told() -> None:
    verified("observe", ago=dt.timedelta(days=3))
    verified("observe", ago=dt.timedelta(days=30))
    verified("on", channel=Channel.SMS)
    found = of()
    assert (found.recovery, list(found.verified)) == ("on", ["observe"])
    ago = database_now(connection) - found.verified["observe"]
    assert dt.timedelta(days=3) <= ago < dt.timedelta(days=4)


def test_a_pause_is_told_with_who_why_and_since_when() -> None:
    before = database_now(connection)
    pause([EMAIL], who="ada", why="the provider asked for it")
    found = of()
    assert (found.paused, found.pause_reason, found.paused_by) == (True, "operator", "ada")
    assert found.pause_why == "the provider asked for it"
    assert found.paused_since is not None
    assert before <= found.paused_since <= database_now(connection)
    assert found.next_step == "rollout resume email"
    assert HealthReason.PAUSED_BY_OPERATOR in found.reasons
    assert not of(Channel.SMS).paused


@pytest.mark.parametrize(
    "fields", [{}, {"pause_reason": "misconfigured"}, {"paused": False, "probing": True}]
)
def test_a_pause_that_no_step_made_is_not_told_with_the_reason_of_an_older_one(
    fields: dict[str, Any],
) -> None:
    pause([EMAIL], who="ada", why="the provider asked for it")
    resume([EMAIL], who="ada")
    steps.pause(EMAIL, **fields)
    found = of()
    assert (found.paused, found.pause_why, found.paused_by, found.paused_since) == (True, "", "", None)


def test_a_minute_of_many_labels_takes_no_more_statements() -> None:
    def statements() -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            status()
        return len(captured)

    put("shadow")
    put("shadow", channel=Channel.SMS)
    few = statements()
    ready()
    ready(Channel.SMS)
    for label in ("pipeline", "shadow", "legacy"):
        counted.events({CountedEvent.ADMITTED: 3}, label=label)
    assert statements() == few


def test_the_history_is_of_rollouts_only_and_the_newest_comes_first() -> None:
    audit.record(who="ada", action="api_key_created", target="shop/aaaaaaaaaaaa")
    verified("on")
    move("shadow")
    pause([EMAIL], who="ada", why="because")
    assert [entry.action for entry in history()] == ["rollout_pause", "rollout_set", "recovery_verified"]
    assert [entry.action for entry in history(limit=1)] == ["rollout_pause"]


def test_the_window_is_the_projects(change: Callable[..., None]) -> None:
    put("shadow")
    change(ROLLOUT_WINDOW=seconds(600), FIRST_SLICE=10)
    counted.events({CountedEvent.ADMITTED: 5}, label="shadow", ago=11)
    counted.events({CountedEvent.ADMITTED: 3}, label="shadow", ago=9)
    found = of()
    assert (found.window, found.admitted) == (seconds(600), {"shadow": 3})
    assert found.next_position == Position("live", 10)
