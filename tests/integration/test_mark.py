from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from notifications.channels import Channel
from notifications.deadline import boot_seconds
from notifications.testing import ScriptedTransport
from resetdelivery import delivery
from resetdelivery.cancellation import request_cancel
from resetdelivery.delivery import deliver
from resetdelivery.domain.reasons import CancelReason
from resetdelivery.domain.states import DeliveryState
from resetdelivery.gate import judge_batch
from resetdelivery.models import Attempt, Delivery
from resetdelivery.services import request_reset
from tests.conftest import age
from tests.steps import pause, record, seconds, states, store, take

pytestmark = pytest.mark.django_db

S = DeliveryState


def test_an_attempt_is_on_record_before_the_provider_is_asked() -> None:
    (row,) = store(overdue=5)
    (marked,) = record(take())
    attempt = Attempt.objects.get()
    row.refresh_from_db()
    assert (row.state, row.attempts) == (S.SUBMITTING, 1)
    assert (attempt.pk, attempt.number, attempt.token, attempt.outcome) == (marked.attempt_id, 1, 1, "")
    assert (attempt.transport, attempt.worker) == ("scripted", "worker:1")
    assert attempt.reference == marked.attempt_reference
    assert attempt.queue_delay_seconds == pytest.approx(5, abs=1)
    assert attempt.remaining_seconds == pytest.approx(600, abs=1)


def test_a_marked_row_is_leased_for_a_send_and_its_bookkeeping() -> None:
    (row,) = store(overdue=5)
    (marked,) = record(take(lease=300), budget=15, margin=5)
    row.refresh_from_db()
    assert row.lease_expires_at is not None
    assert abs(row.lease_expires_at - marked.started_at - seconds(20)) < seconds(1)


def cancel_it(row: Delivery) -> None:
    request_cancel(account_ref=row.intent.account_ref, reason=CancelReason.SUPERSEDED, using="default")


def let_the_lease_run_out(_: Delivery) -> None:
    age(31)


def let_it_expire(row: Delivery) -> None:
    Delivery.objects.filter(pk=row.pk).update(expires_at=row.expires_at - seconds(601))


def pause_its_channel(_: Delivery) -> None:
    pause()


def hand_it_to_another(row: Delivery) -> None:
    Delivery.objects.filter(pk=row.pk).update(lease_token=2)


def give_it_to_the_existing_sender(row: Delivery) -> None:
    Delivery.objects.filter(pk=row.pk).update(authority="legacy")


@pytest.mark.parametrize(
    "event",
    [
        cancel_it,
        let_the_lease_run_out,
        let_it_expire,
        pause_its_channel,
        hand_it_to_another,
        give_it_to_the_existing_sender,
    ],
)
def test_nothing_is_marked_after(event: Any) -> None:
    (row,) = store(overdue=5)
    claimed = take(lease=30)
    event(row)
    assert record(claimed) == []
    assert states([row]) == [S.LEASED]
    assert not Attempt.objects.exists()


def test_a_wave_is_marked_without_those_that_may_not_be_sent() -> None:
    rows = store(3, overdue=5)
    claimed = take()
    cancel_it(rows[1])
    assert [marked.claimed.id for marked in record(claimed)] == [rows[0].pk, rows[2].pk]
    assert states(rows) == [S.SUBMITTING, S.LEASED, S.SUBMITTING]


def test_the_pause_of_another_channel_is_no_matter() -> None:
    store(overdue=5)
    claimed = take()
    pause(Channel.SMS)
    assert len(record(claimed)) == 1


@pytest.mark.parametrize(("life", "budget"), [(600, 15), (9, 9)])
def test_a_send_may_take_its_budget_or_what_is_left_of_the_reset(
    account: Any, email: ScriptedTransport, monkeypatch: pytest.MonkeyPatch, life: int, budget: float
) -> None:
    moments: list[float] = []

    def read() -> float:
        moments.append(boot_seconds())
        return moments[-1]

    monkeypatch.setattr(delivery, "boot_seconds", read)
    request_reset(account_ref=str(account.pk), channels=["email"], lifetime=dt.timedelta(seconds=60))
    Delivery.objects.update(expires_at=Delivery.objects.get().expires_at + seconds(life - 60))
    deliver(Channel.EMAIL, fill_at_once=True)
    (deadline,) = email.deadlines
    assert deadline.at - moments[0] <= budget + 1e-6  # a float's last digits
    assert deadline.at - moments[0] == pytest.approx(budget, abs=1.5)


def test_what_could_not_be_marked_is_given_back(
    account: Any, email: ScriptedTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    request_reset(account_ref=str(account.pk), channels=["email"])

    def judge_and_pause(*args: Any, **kwargs: Any) -> Any:
        judged = judge_batch(*args, **kwargs)
        pause()
        return judged

    monkeypatch.setattr(delivery, "judge_batch", judge_and_pause)
    assert deliver(Channel.EMAIL) == 1
    row = Delivery.objects.get()
    assert (row.state, row.claims, row.attempts) == (S.PENDING, 0, 0)
    assert email.messages == []
