from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery.cancellation import request_cancel
from resetdelivery.clock import database_now
from resetdelivery.conf import get_settings
from resetdelivery.delivery import deliver
from resetdelivery.domain.reasons import CancelReason
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import Attempt, Delivery, ResetIntent
from resetdelivery.recovery import Swept, expire_overdue, sweep
from resetdelivery.services import request_reset
from tests.brokers import Queue
from tests.conftest import age
from tests.steps import pause, record, seconds, states, store, take

pytestmark = pytest.mark.django_db

S = DeliveryState
Settings = Callable[..., None]


# Putting back what was abandoned.


def test_an_abandoned_lease_is_put_back_with_its_reason() -> None:
    (row,) = store(overdue=5, hinted_at=database_now(connection))
    take()
    age(31)
    assert sweep().put_back == 1
    row.refresh_from_db()
    assert (row.state, row.reason, row.claims, row.attempts) == (S.PENDING, "lease_ran_out", 1, 0)
    assert (row.hinted_at, row.lease_owner, row.outcome) == (None, "", "")


def test_a_live_lease_is_left_alone() -> None:
    (row,) = store(overdue=5)
    take()
    age(29)
    assert sweep() == Swept()
    assert states([row]) == [S.LEASED]


@pytest.mark.parametrize("paused", [False, True])
def test_a_lost_submission_becomes_ambiguous_and_is_tried_again_paused_or_not(paused: bool) -> None:
    (row,) = store(overdue=5)
    record(take())
    if paused:
        pause()
    age(21)
    assert sweep().put_back == 1
    row.refresh_from_db()
    attempt = Attempt.objects.get()
    assert (row.state, row.outcome, row.reason, row.attempts) == (S.PENDING, "ambiguous", "lost", 1)
    assert (attempt.outcome, attempt.reason) == ("ambiguous", "lost")
    assert attempt.finished_at is not None


def test_a_lost_submission_past_help_expires_and_stays_ambiguous() -> None:
    (row,) = store(life=30, overdue=5)
    record(take())
    age(28)
    assert sweep().ended == 1
    row.refresh_from_db()
    assert (row.state, row.outcome) == (S.EXPIRED, "ambiguous")
    assert (Attempt.objects.get().outcome, ResetIntent.objects.get().state) == ("ambiguous", "closed")


def test_an_abandoned_lease_past_help_expires_unsent() -> None:
    (row,) = store(life=30, overdue=5)
    take(lease=10)
    age(25)
    assert sweep().ended == 1
    row.refresh_from_db()
    assert (row.state, row.reason, row.outcome) == (S.EXPIRED, "no_useful_time_left", "")


@pytest.mark.parametrize("marked", [False, True])
def test_what_was_asked_to_stop_is_ended_by_the_sweep(marked: bool) -> None:
    (row,) = store(overdue=5)
    claimed = take()
    if marked:
        record(claimed)
    request_cancel(account_ref=row.intent.account_ref, reason=CancelReason.SUPERSEDED, using="default")
    age(31)
    assert sweep().ended == 1
    row.refresh_from_db()
    assert (row.state, row.outcome) == (S.CANCELLED, "ambiguous" if marked else "")
    assert ResetIntent.objects.get().state == "closed"


@pytest.mark.parametrize("marked", [False, True])
def test_a_row_that_kills_its_workers_fails_with_its_last_claim(marked: bool) -> None:
    (row,) = store(overdue=5, claims=9)
    claimed = take()
    if marked:
        record(claimed)
    age(31)
    assert sweep() == Swept(ended=1)
    row.refresh_from_db()
    assert (row.state, row.reason) == (S.FAILED, "claims_used_up")


def test_a_text_message_lost_twice_is_not_sent_a_third_time() -> None:
    (row,) = store(channel=Channel.SMS, overdue=5)
    for _ in range(2):
        age(120)
        Delivery.objects.update(expires_at=database_now(connection) + seconds(600))
        record(take(Channel.SMS))
        age(21)
        sweep()
    row.refresh_from_db()
    assert (row.state, row.reason, row.outcome) == (S.FAILED, "ambiguous_resends_used_up", "ambiguous")


def test_leases_are_put_back_without_a_bound(change: Settings) -> None:
    change(SWEEP_LIMIT=1)
    store(450, overdue=5)
    take(limit=450)
    age(31)
    assert sweep().put_back == 450


def test_a_second_sweep_finds_nothing_left() -> None:
    store(3, overdue=5)
    take()
    age(31)
    assert sweep().put_back == 3
    assert sweep() == Swept()


def test_observing_counts_and_changes_nothing(change: Settings, queue: Queue) -> None:
    change(DISPATCH="broker", RECOVERY="observe")
    rows = store(2, overdue=5)
    take()
    age(31)
    assert sweep() == Swept(put_back=2)
    assert states(rows) == [S.LEASED, S.LEASED]
    assert queue.hints == []


def test_recovery_that_is_off_rests(change: Settings) -> None:
    change(RECOVERY="off")
    rows = store(overdue=5)
    take()
    age(31)
    assert sweep() == Swept()
    assert states(rows) == [S.LEASED]


# Ending what is past help.


@pytest.mark.parametrize(
    ("state", "ending"),
    [(S.PENDING, (S.EXPIRED, "no_useful_time_left")), (S.WAITING, (S.CANCELLED, "not_needed"))],
)
@pytest.mark.parametrize("paused", [False, True])
def test_work_past_help_ends_and_closes_its_intent_paused_or_not(
    state: S, ending: tuple[S, str], paused: bool
) -> None:
    (row,) = store(life=3, overdue=5, state=state)
    if paused:
        pause()
    assert expire_overdue() == 1
    row.refresh_from_db()
    assert (row.state, row.reason) == ending
    assert ResetIntent.objects.get().state == "closed"


def test_a_retry_that_expires_in_the_queue_keeps_its_ambiguous_outcome() -> None:
    (row,) = store(life=3, overdue=5, outcome="ambiguous")
    expire_overdue()
    row.refresh_from_db()
    assert (row.state, row.outcome) == (S.EXPIRED, "ambiguous")


def test_work_that_can_still_help_is_left_alone() -> None:
    floor = get_settings().policy(Channel.EMAIL).useful_floor_seconds
    (row,) = store(life=floor + 5, overdue=5)
    assert expire_overdue() == 0
    assert states([row]) == [S.PENDING]


def test_what_a_worker_holds_is_not_expired_under_it() -> None:
    (row,) = store(life=30, overdue=5)
    take()
    age(28)
    assert expire_overdue() == 0
    assert states([row]) == [S.LEASED]


def test_more_than_a_batch_expires_in_one_run() -> None:
    store(450, life=3, overdue=5)
    assert expire_overdue() == 450


def test_an_intent_stays_open_while_its_other_channel_can_help(account: Any) -> None:
    request_reset(account_ref=str(account.pk), channels=["email", "sms"])
    Delivery.objects.filter(channel="sms").update(expires_at=database_now(connection))
    assert expire_overdue() == 1
    assert ResetIntent.objects.get().state == "open"


# All of it together.


def test_a_reset_lost_in_a_crash_after_the_provider_took_it_is_sent_once_more_the_same(
    account: Any, email: ScriptedTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    request_reset(account_ref=str(account.pk), channels=["email"])
    with monkeypatch.context() as patch:
        patch.setattr("resetdelivery.delivery.settle", die)
        with pytest.raises(SystemExit):
            deliver(Channel.EMAIL)
    now = database_now(connection)
    Delivery.objects.update(lease_expires_at=now - seconds(1))
    sweep()
    Delivery.objects.update(due_at=now)
    deliver(Channel.EMAIL)
    first, second = email.messages
    assert first == second
    assert [a.outcome for a in Attempt.objects.order_by("number")] == ["ambiguous", "accepted"]


def die(*_: object, **__: object) -> None:
    raise SystemExit
