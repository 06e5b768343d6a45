"""Steps of a rollout beside each other and beside workers, on PostgreSQL."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import pytest
from django.db import connection, transaction

from notifications.channels import Channel
from resetdelivery.claims.control import holds
from resetdelivery.claims.sql import CONTROL
from resetdelivery.cutover import turns
from resetdelivery.cutover.steps import Changed, ChannelsBusy, InvalidStep, StepRefused, pause, resume
from resetdelivery.domain.rollout import Position
from resetdelivery.models import Attempt, ChannelControl
from resetdelivery.services import request_reset
from tests.interleavings.racing import CEILING_SECONDS, alone, behind, holding, together, wait_until, waiting
from tests.rollouts import EMAIL, move, put, ready, stands, trail
from tests.steps import record, store, take

T = TypeVar("T")
SHARED = f"SELECT paused FROM {CONTROL} WHERE channel = %s FOR SHARE"
#: Workers that mark at one time, so that there is never a moment without one.
WORKERS = 12


def stop(*channels: Channel) -> tuple[Channel, ...]:
    return pause(channels or [EMAIL], who="ada", why="because")


def in_turn(*steps: Callable[[], T]) -> list[Future[T]]:
    """Let the steps wait for their turn one behind the other, and let them go; what became of them."""
    with ThreadPoolExecutor(len(steps)) as pool:
        running: list[Future[T]] = []
        with holding() as cursor:
            cursor.execute(SHARED, ["email"])
            for number, step in enumerate(steps, 1):
                running.append(pool.submit(alone, step))
                wait_until(partial(_so_many_wait, number))
    return running


def _so_many_wait(number: int) -> bool:
    return waiting() == number


def test_of_two_steps_at_once_the_second_sees_the_first() -> None:
    put("live", 1000)
    first, second = in_turn(partial(move, "live", 50), partial(move, "shadow"))
    assert first.result().before == Position("live", 1000)
    assert second.result().before == Position("live", 50)
    assert stands() == Position("shadow")
    assert [target for _, _, target, _ in trail()] == [
        "email: live 1000 -> live 50",
        "email: live 50 -> shadow 1000",
    ]


def test_a_step_back_that_became_one_forward_meanwhile_is_not_made_unseen() -> None:
    put("live", 1000)
    first, second = in_turn(partial(move, "shadow"), partial(move, "live", 50))
    assert first.result().after == stands() == Position("shadow")
    with pytest.raises(InvalidStep, match="Somebody else moved the channel back just now"):
        second.result()
    assert len(trail()) == 1


def test_a_step_that_somebody_else_made_meanwhile_is_not_made_twice() -> None:
    put("shadow")
    ready()
    changed = behind(SHARED, ["email"], *[partial(move, "live", 50)] * 2)
    assert sorted(str(one.before) for one in changed) == ["live 50", "shadow 1000"]
    assert len(trail()) == 1


def test_a_step_is_judged_by_where_the_channel_stands_when_its_turn_comes() -> None:
    """A larger slice is fine from a slice; from a shadow, where somebody put it, it is a first one."""
    put("live", 50)
    ready()

    def grow() -> Changed | StepRefused:
        try:
            return move("live", 200)
        except StepRefused as refused:
            return refused

    with ThreadPoolExecutor(1) as pool:
        with holding() as cursor:
            cursor.execute(f"UPDATE {CONTROL} SET mode = 'shadow' WHERE channel = 'email'")
            grown = pool.submit(alone, grow)
            wait_until(lambda: waiting() == 1)
        refused = grown.result()
    assert isinstance(refused, StepRefused)
    assert [one.name for one in refused.findings if not one.ok] == ["first slice"]
    assert (stands().mode, trail()) == ("shadow", [])


def test_a_pause_waits_for_what_is_being_marked_and_nothing_is_marked_after_it() -> None:
    first, second = store(2, overdue=5)
    claimed = {one.id: one for one in take()}
    may_end = threading.Event()

    def mark_slowly() -> int:
        with transaction.atomic():
            marked = record([claimed[first.pk]])
            may_end.wait(CEILING_SECONDS)
        return len(marked)

    with ThreadPoolExecutor(3) as pool:
        marked = pool.submit(alone, mark_slowly)
        wait_until(lambda: _holders() == 1)
        paused = pool.submit(alone, stop)
        wait_until(lambda: waiting() == 1)
        late = pool.submit(alone, lambda: len(record([claimed[second.pk]])))
        wait_until(lambda: waiting() == 2)
        may_end.set()
        assert (marked.result(), paused.result(), late.result()) == (1, (EMAIL,), 0)
    assert Attempt.objects.get().delivery_id == first.pk


def _holders() -> int:
    """How many transactions hold a row of the channels."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_locks "
            "WHERE relation = %s::regclass AND mode = 'RowShareLock' AND granted",
            [CONTROL],
        )
        return int(cursor.fetchone()[0])


def test_a_pause_comes_through_however_many_workers_mark_all_the_time() -> None:
    """Row locks alone would not do: workers share them past whoever waits to change the row."""
    ended, busy = threading.Event(), threading.Semaphore(0)

    def mark_until_paused() -> bool:
        hand_over = threading.Event()
        while not ended.is_set():
            with transaction.atomic(), connection.cursor() as cursor:
                if holds(connection, cursor, EMAIL):
                    return True
                busy.release()
                # What a mark does with the lock: its own statements.
                hand_over.wait(0.02)
        return False

    with ThreadPoolExecutor(WORKERS) as pool:
        workers: list[Future[bool]] = [pool.submit(alone, mark_until_paused) for _ in range(WORKERS)]
        try:
            for _ in range(3 * WORKERS):
                busy.acquire()
            assert stop() == (EMAIL,)
            seen = [worker.result(30) for worker in workers]
        finally:
            ended.set()
    assert seen == [True] * WORKERS


def test_two_kill_switches_at_once_are_one_pause_of_each_channel() -> None:
    ChannelControl.objects.all().delete()
    done = together(lambda: stop(Channel.EMAIL, Channel.SMS), lambda: stop(Channel.SMS, Channel.EMAIL))
    assert sorted(done) == [(), (Channel.EMAIL, Channel.SMS)]
    assert [(action, target) for _, action, target, _ in trail()] == [
        ("rollout_pause", "email"),
        ("rollout_pause", "sms"),
    ]


@pytest.fixture(autouse=True)
def _long_turns(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps wait until a test has brought everybody together; only those about it wait for less."""
    if "short_turns" not in request.fixturenames:
        monkeypatch.setattr(turns, "TURN_SECONDS", CEILING_SECONDS)


@pytest.fixture
def short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "TURN_SECONDS", 0.05)
    monkeypatch.setattr(turns, "BETWEEN_TRIES_SECONDS", 0.05)


@pytest.mark.parametrize("ends_paused", [True, False])
def test_pause_and_resume_at_once_end_as_the_later_one_says(ends_paused: bool) -> None:
    stop()
    go_on = partial(resume, [EMAIL], who="bob")
    steps: list[Callable[[], tuple[Channel, ...]]] = [go_on, stop]
    if not ends_paused:
        steps.append(go_on)
    assert [one.result() for one in in_turn(*steps)] == [(EMAIL,)] * len(steps)
    assert ChannelControl.objects.get(channel="email").paused == ends_paused


@pytest.mark.usefixtures("short_turns")
def test_a_pause_of_no_patience_says_that_somebody_holds_the_channels_and_changes_nothing() -> None:
    with holding() as cursor:
        cursor.execute(SHARED, ["email"])
        with pytest.raises(ChannelsBusy, match="Somebody holds the channels for longer"):
            pause([EMAIL], who="ada", why="because", patience=dt.timedelta(0))
    assert (ChannelControl.objects.get(channel="email").paused, trail()) == (False, [])


@pytest.mark.usefixtures("short_turns")
@pytest.mark.parametrize("step", [partial(move, "shadow"), partial(resume, [EMAIL], who="bob")])
def test_other_steps_give_up_after_one_turn(step: Callable[[], object]) -> None:
    with holding() as cursor:
        cursor.execute(SHARED, ["email"])
        with pytest.raises(ChannelsBusy):
            step()
    assert trail() == []


@pytest.mark.usefixtures("short_turns")
def test_a_pause_behind_a_process_that_hangs_holds_up_no_other_channel_and_comes_through_after_it() -> None:
    """The hanging one is idle in its transaction, in the middle of a mark of email's."""
    for channel in Channel:
        ChannelControl.objects.get_or_create(channel=channel)
    tried = threading.Event()

    def stop_email() -> tuple[Channel, ...]:
        with connection.cursor() as cursor:
            # As PostgreSQL has it where nobody set it: for ever.
            cursor.execute("SET lock_timeout = 0")
        return pause([EMAIL], who="ada", why="because", on_wait=tried.set)

    def mark_sms() -> bool:
        with transaction.atomic(), connection.cursor() as cursor:
            return holds(connection, cursor, Channel.SMS)

    with ThreadPoolExecutor(2) as pool:
        with holding() as cursor:
            cursor.execute(SHARED, ["email"])
            stopped = pool.submit(alone, stop_email)
            assert tried.wait(CEILING_SECONDS)
            # All of these come to their end while the other one still hangs.
            marks = [pool.submit(alone, mark_sms).result(CEILING_SECONDS) for _ in range(20)]
            assert (marks, stopped.done()) == ([False] * 20, False)
        assert stopped.result(CEILING_SECONDS) == (EMAIL,)
    assert ChannelControl.objects.get(channel="email").paused


@pytest.mark.usefixtures("short_turns")
def test_what_a_step_waits_is_a_matter_of_its_turn_alone() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = '7s'")
        stop()
        cursor.execute("SELECT current_setting('lock_timeout')")
        assert cursor.fetchone() == ("7s",)


def test_claims_and_admissions_do_not_wait_for_a_step(account: Any) -> None:
    store(overdue=5)
    with holding() as cursor, connection.cursor() as own:
        cursor.execute(f"LOCK TABLE {CONTROL} IN EXCLUSIVE MODE")
        own.execute("SET lock_timeout = '2s'")
        try:
            assert len(take()) == 1
            assert not request_reset(account_ref=str(account.pk), channels=["email"]).replayed
        finally:
            own.execute("RESET lock_timeout")
