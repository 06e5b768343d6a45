"""Pause and resume by a person: one channel, or all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.db import connection

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery import audit, fallback
from resetdelivery.clock import database_now
from resetdelivery.cutover.steps import InvalidStep, pause, resume
from resetdelivery.delivery import deliver
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import ChannelControl, Delivery
from resetdelivery.poller import Poller
from resetdelivery.recovery import expire_overdue
from resetdelivery.services import request_reset
from tests import steps
from tests.brokers import Queue
from tests.conftest import age
from tests.later_words import armed_by, ask_in_turn
from tests.rollouts import trail
from tests.steps import ACCEPTED, LOCKED_OUT, answer, record, states, store, take

pytestmark = pytest.mark.django_db

S = DeliveryState
EMAIL, SMS = Channel.EMAIL, Channel.SMS
BOTH = [Channel.SMS, Channel.EMAIL]
Commit = Callable[..., Any]


def control(channel: Channel = EMAIL) -> tuple[Any, ...]:
    row = ChannelControl.objects.get(channel=channel)
    return row.paused, row.pause_reason, row.probing, row.probe_at


def stop(
    channels: Sequence[Channel] = (EMAIL,), why: str = "the provider asked for it"
) -> tuple[Channel, ...]:
    return pause(channels, who="ada", why=why)


def go_on(channels: Sequence[Channel] = (EMAIL,)) -> tuple[Channel, ...]:
    return resume(channels, who="bob")


OPEN = (False, "", False, None)
PAUSED = (True, "operator", False, None)


def test_a_paused_channel_is_paused_by_an_operator_until_somebody_resumes_it() -> None:
    store(overdue=5)
    assert stop() == (EMAIL,)
    assert (control(), take()) == (PAUSED, [])
    age(3600)
    assert take() == []
    assert go_on() == (EMAIL,)
    assert control() == OPEN


def test_pauses_and_ends_of_them_are_audited_with_who_and_why() -> None:
    stop()
    go_on()
    assert trail() == [
        ("ada", "rollout_pause", "email", "the provider asked for it"),
        ("bob", "rollout_resume", "email", ""),
    ]


@pytest.mark.parametrize("why", ["", " \t"])
def test_a_pause_needs_a_reason(why: str) -> None:
    with pytest.raises(InvalidStep, match="A pause needs a reason"):
        stop(why=why)
    assert not ChannelControl.objects.exists()


def test_an_entry_that_cannot_be_stored_leaves_every_channel_as_it_was() -> None:
    with pytest.raises(audit.InvalidAuditEntry):
        stop(BOTH, why="x" * 256)
    assert not ChannelControl.objects.filter(paused=True).exists()


def test_a_pause_of_a_paused_channel_changes_nothing_and_keeps_the_first_reason() -> None:
    stop()
    assert stop(why="another one") == ()
    assert [why for *_, why in trail()] == ["the provider asked for it"]


def test_an_end_of_no_pause_changes_nothing() -> None:
    assert go_on(BOTH) == ()
    assert trail() == []


def test_a_pause_leaves_the_other_channel_alone() -> None:
    store(channel=SMS, overdue=5)
    stop()
    assert len(take(SMS)) == 1


def test_all_channels_are_paused_as_one_also_those_that_were_never_used() -> None:
    assert stop(BOTH) == (EMAIL, SMS)
    assert (control(EMAIL), control(SMS)) == (PAUSED, PAUSED)
    assert [target for _, _, target, _ in trail()] == ["email", "sms"]
    assert go_on(BOTH) == (EMAIL, SMS)
    assert (control(EMAIL), control(SMS)) == (OPEN, OPEN)


def test_a_pause_keeps_the_channels_mode() -> None:
    ChannelControl.objects.create(channel=EMAIL, mode="live", slice_per_mille=50)
    stop()
    go_on()
    row = ChannelControl.objects.get(channel=EMAIL)
    assert (row.mode, row.slice_per_mille) == ("live", 50)


# What paused itself.


def test_an_operators_pause_takes_the_place_of_one_by_a_configuration_error() -> None:
    store(2, overdue=5)
    answer(record(take()), LOCKED_OUT)
    assert stop() == (EMAIL,)
    assert control() == PAUSED
    age(3600)
    assert take() == []


def test_a_channel_that_paused_itself_is_resumed_without_waiting_for_its_probe() -> None:
    store(3, overdue=5)
    answer(record(take(limit=1)), LOCKED_OUT)
    assert take() == []
    assert go_on() == (EMAIL,)
    assert control() == OPEN
    assert len(take()) == 2


def test_a_channel_that_is_probed_is_resumed_for_all_rows() -> None:
    store(3, overdue=5)
    steps.pause(pause_reason="misconfigured", probe_at=database_now(connection) - steps.seconds(1))
    (probe,) = take()
    assert go_on() == (EMAIL,)
    assert control() == OPEN
    assert len(take()) == 2
    answer(record([probe]), ACCEPTED)
    assert control() == OPEN


def test_a_pause_while_a_probe_is_under_way_outlasts_it() -> None:
    store(2, overdue=5)
    steps.pause(pause_reason="misconfigured", probe_at=database_now(connection) - steps.seconds(1))
    marked = record(take())
    stop()
    answer(marked, ACCEPTED)
    assert control() == PAUSED


# What becomes of deliveries.


def test_what_was_claimed_before_a_pause_is_not_marked_after_it() -> None:
    rows = store(3, overdue=5)
    claimed = take()
    stop()
    assert record(claimed) == []
    assert states(rows) == [S.LEASED] * 3


def test_what_was_marked_before_a_pause_is_settled_after_it() -> None:
    rows = store(overdue=5)
    marked = record(take())
    stop()
    answer(marked, ACCEPTED)
    assert states(rows) == [S.ACCEPTED]


def test_a_paused_channels_resets_expire_on_time(account: Any, email: ScriptedTransport) -> None:
    request_reset(account_ref=str(account.pk), channels=["email"], lifetime=steps.seconds(600))
    stop()
    age(580)
    assert expire_overdue() == 0
    age(15)
    assert expire_overdue() == 1
    go_on()
    assert deliver(EMAIL, fill_at_once=True) == 0
    assert (Delivery.objects.get().state, email.messages) == (S.EXPIRED, [])


def test_the_poller_ends_what_expires_in_a_paused_channel_and_goes_on_after_the_pause(
    make_account: Callable[..., Any], email: ScriptedTransport
) -> None:
    request_reset(account_ref=str(make_account().pk), channels=["email"], lifetime=steps.seconds(600))
    stop()
    age(595)
    request_reset(account_ref=str(make_account().pk), channels=["email"])
    assert Poller().run_once() == 0
    assert list(Delivery.objects.order_by("pk").values_list("state", flat=True)) == [S.EXPIRED, S.PENDING]
    go_on()
    assert Poller().run_once() == 1
    assert len(email.messages) == 1


def test_an_operators_pause_arms_the_channel_behind_it(account: Any) -> None:
    ask_in_turn(account)
    stop()
    assert fallback.arm_due() == 1
    assert armed_by() == (S.PENDING, "paused")


# Telling workers.


def test_workers_are_told_of_each_channel_that_goes_on_once_and_after_the_commit(
    queue: Queue, django_capture_on_commit_callbacks: Commit
) -> None:
    stop([EMAIL])
    with django_capture_on_commit_callbacks() as callbacks:
        go_on(BOTH)
    assert queue.hints == []
    for callback in callbacks:
        callback()
    assert queue.hints == [(EMAIL, [])]


@pytest.mark.usefixtures("queue")
def test_what_was_hinted_at_during_a_pause_is_claimed_at_once_after_it(
    django_capture_on_commit_callbacks: Commit,
) -> None:
    store(2, overdue=0.2, hinted_at=database_now(connection))
    stop()
    assert take(fill_after=30) == []
    with django_capture_on_commit_callbacks(execute=True):
        go_on()
    assert len(take(fill_after=30)) == 2


def test_an_end_of_no_pause_tells_nobody(queue: Queue, django_capture_on_commit_callbacks: Commit) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        go_on(BOTH)
    assert queue.hints == []


@pytest.mark.usefixtures("email", "sms")
def test_without_a_broker_nobody_is_told(
    queue: Queue, change: Callable[..., None], django_capture_on_commit_callbacks: Commit
) -> None:
    change(DISPATCH="database")
    stop(BOTH)
    with django_capture_on_commit_callbacks(execute=True):
        go_on(BOTH)
    assert queue.hints == []


def test_a_channel_that_is_configured_no_more_is_paused_and_resumed_like_the_others(
    queue: Queue, change: Callable[..., None], django_capture_on_commit_callbacks: Commit
) -> None:
    change(CHANNELS={"email": {"TRANSPORT": "tests.transports.email"}})
    assert stop(BOTH) == (EMAIL, SMS)
    with django_capture_on_commit_callbacks(execute=True):
        assert go_on(BOTH) == (EMAIL, SMS)
    assert queue.hints == [(EMAIL, [])]


def test_a_broker_that_is_away_hinders_no_resume(
    queue: Queue, django_capture_on_commit_callbacks: Commit
) -> None:
    queue.is_up = False
    stop()
    with django_capture_on_commit_callbacks(execute=True):
        go_on()
    assert control() == OPEN
