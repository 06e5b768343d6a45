"""The lease protocol against itself, against a pause, and against a change of mind."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from django.db import connection

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery import delivery
from resetdelivery.clock import database_now
from resetdelivery.delivery import deliver
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import Attempt, ChannelControl, Delivery, ResetIntent
from resetdelivery.recovery import expire_overdue, sweep
from resetdelivery.services import cancel_resets, request_reset
from tests.conftest import UseTransport
from tests.interleavings.racing import (
    CEILING_SECONDS,
    alone,
    behind,
    holding,
    together,
    wait_until,
    waiting,
)
from tests.steps import ACCEPTED, BUSY, REFUSED, answer, pause, record, seconds, states, store, take

S = DeliveryState
INTENT = f"SELECT 1 FROM {ResetIntent._meta.db_table} WHERE id = %s FOR UPDATE"
CONTROL = ChannelControl._meta.db_table


def ask(account: Any, *channels: str) -> ResetIntent:
    admission = request_reset(account_ref=str(account.pk), channels=list(channels) or ["email"])
    return ResetIntent.objects.get(reference=admission.reference)


def let_leases_run_out() -> None:
    Delivery.objects.exclude(lease_expires_at=None).update(
        lease_expires_at=database_now(connection) - seconds(1)
    )


# Claims.


def test_no_row_is_claimed_twice_by_workers_that_claim_at_once() -> None:
    store(200, overdue=5)

    def claim_all(owner: str) -> list[int]:
        batches = iter(lambda: take(limit=7, owner=owner), [])
        return [one.id for one in itertools.chain.from_iterable(batches)]

    taken = [i for ids in together(*[partial(claim_all, f"w:{n}") for n in range(4)]) for i in ids]
    assert len(taken) == len(set(taken))
    # A worker passes over what another is just looking at; a last look finds such rows.
    taken += [one.id for one in take(limit=200)]
    assert sorted(taken) == sorted(Delivery.objects.values_list("pk", flat=True))


def test_a_probe_is_one_row_for_all_workers_together() -> None:
    store(20, overdue=5)
    pause(pause_reason="misconfigured", probe_at=database_now(connection) - seconds(1))
    taken = behind(f"SELECT 1 FROM {CONTROL} WHERE channel = %s FOR UPDATE", ["email"], *[partial(take)] * 4)
    assert sum(map(len, taken)) == 1


# Settling.


@pytest.mark.parametrize("outcome", [ACCEPTED, REFUSED])
def test_two_channels_settling_at_once_close_their_intent(account: Any, outcome: Any) -> None:
    intent = ask(account, "email", "sms")
    email, sms = record(take(Channel.EMAIL)), record(take(Channel.SMS))
    behind(INTENT, [intent.pk], partial(answer, email, outcome), partial(answer, sms, outcome))
    intent.refresh_from_db()
    assert (intent.state, intent.closed_at is not None) == ("closed", True)


def test_settling_and_expiring_at_once_close_the_intent(account: Any) -> None:
    intent = ask(account, "email", "sms")
    email = record(take(Channel.EMAIL))
    Delivery.objects.filter(channel="sms").update(expires_at=database_now(connection))
    behind(INTENT, [intent.pk], partial(answer, email, ACCEPTED), expire_overdue)
    intent.refresh_from_db()
    assert intent.state == "closed"


def test_settling_and_cancelling_at_once_close_the_intent(account: Any) -> None:
    intent = ask(account, "email", "sms")
    email = record(take(Channel.EMAIL))
    behind(
        INTENT,
        [intent.pk],
        partial(answer, email, BUSY),
        partial(cancel_resets, account_ref=str(account.pk)),
    )
    take(Channel.EMAIL)
    intent.refresh_from_db()
    assert intent.state == "closed"
    assert set(intent.deliveries.values_list("state", flat=True)) == {S.CANCELLED}


@pytest.mark.parametrize("times", range(4))
def test_of_a_sweep_and_a_late_settle_exactly_one_moves_the_row(times: int) -> None:
    (row,) = store(overdue=5)
    marked = record(take())
    let_leases_run_out()
    steps: list[Callable[[], Any]] = [sweep, partial(answer, marked, ACCEPTED)]
    swept, (settled,) = behind(INTENT, [row.intent.pk], *steps)
    row.refresh_from_db()
    attempt = Attempt.objects.get()
    found = (row.state, attempt.outcome, attempt.late_outcome, swept.put_back)
    by_the_sweep = (S.PENDING, "ambiguous", "accepted", 1)
    assert found == (by_the_sweep if settled.fenced_out else (S.ACCEPTED, "accepted", "", 0))


def test_of_two_sweeps_at_once_one_puts_each_row_back() -> None:
    rows = store(20, overdue=5)
    take()
    let_leases_run_out()
    swept = together(*[sweep] * 3)
    assert sum(one.put_back for one in swept) == 20
    assert set(states(rows)) == {S.PENDING}


# A change of mind between the mark and the end of the submission.


def cancel(account: Any) -> None:
    cancel_resets(account_ref=str(account.pk))


def ask_for_more(account: Any) -> None:
    ask(account, "email", "sms")


@pytest.mark.parametrize("change", [cancel, ask_for_more])
def test_what_is_stopped_while_it_is_submitted_and_lost_is_not_sent_again(
    account: Any,
    use_transport: UseTransport,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Any], None],
) -> None:
    opened = threading.Event()
    email = use_transport(Channel.EMAIL, ScriptedTransport(gate=opened))
    intent = ask(account)
    row = intent.deliveries.get()
    monkeypatch.setattr(delivery, "settle", die)
    with ThreadPoolExecutor(1) as pool:
        worker = pool.submit(alone, partial(deliver, Channel.EMAIL, [row.pk]))
        assert email.arrived.wait(CEILING_SECONDS)
        change(account)
        opened.set()
        assert isinstance(worker.exception(CEILING_SECONDS), Killed)
    monkeypatch.undo()
    assert states([row]) == [S.SUBMITTING]
    let_leases_run_out()
    sweep()
    row.refresh_from_db()
    intent.refresh_from_db()
    assert (row.state, row.outcome, intent.state) == (S.CANCELLED, "ambiguous", "closed")
    assert Attempt.objects.get(delivery=row).outcome == "ambiguous"


class Killed(BaseException):
    """Stands for the end of a worker process."""


def die(*_: Any, **__: Any) -> None:
    raise Killed


def test_a_submission_lost_past_help_expires_as_ambiguous(account: Any, use_transport: UseTransport) -> None:
    (row,) = store(life=30, overdue=5)
    record(take())
    let_leases_run_out()
    Delivery.objects.update(expires_at=database_now(connection))
    swept = together(sweep, expire_overdue)
    row.refresh_from_db()
    assert len(swept) == 2
    assert (row.state, row.outcome) == (S.EXPIRED, "ambiguous")


# Mark against what forbids it.


def test_a_mark_waits_for_a_pause_under_way_and_then_does_not_happen() -> None:
    (row,) = store(overdue=5)
    claimed = take()
    (marked,) = behind(
        f"UPDATE {CONTROL} SET paused = true, pause_reason = 'operator' WHERE channel = %s",
        ["email"],
        partial(record, claimed),
    )
    assert marked == []
    assert states([row]) == [S.LEASED]


def test_a_mark_waits_for_a_cancel_under_way_and_then_does_not_happen() -> None:
    (row,) = store(overdue=5)
    claimed = take()
    (marked,) = behind(
        f"UPDATE {ResetIntent._meta.db_table} SET cancel_requested_at = clock_timestamp(), "
        "cancel_reason = 'withdrawn' WHERE id = %s",
        [row.intent.pk],
        partial(record, claimed),
    )
    assert marked == []
    assert states([row]) == [S.LEASED]


@pytest.mark.parametrize(
    "stop", [lambda row: pause(), lambda row: cancel_resets(account_ref=row.intent.account_ref)]
)
def test_a_pause_or_cancel_waits_for_a_mark_under_way(
    monkeypatch: pytest.MonkeyPatch, stop: Callable[[Delivery], object]
) -> None:
    (row,) = store(overdue=5)
    claimed = take()
    reached, go_on = threading.Event(), threading.Event()
    bulk_create = Attempt.objects.bulk_create

    def stop_before_the_attempt(self: Any, rows: Any) -> Any:
        reached.set()
        assert go_on.wait(CEILING_SECONDS)
        return bulk_create(rows)

    manager = type(Attempt.objects.using("default"))
    monkeypatch.setattr(manager, "bulk_create", stop_before_the_attempt)
    with ThreadPoolExecutor(2) as pool:
        marking = pool.submit(alone, partial(record, claimed))
        assert reached.wait(CEILING_SECONDS)
        stopping = pool.submit(alone, partial(stop, row))
        wait_until(lambda: waiting() == 1)
        assert not stopping.done()
        monkeypatch.undo()
        go_on.set()
        stopping.result(CEILING_SECONDS)
        assert len(marking.result(CEILING_SECONDS)) == 1
    assert states([row]) == [S.SUBMITTING]


def test_the_lease_is_compared_with_the_clock_after_the_wait_and_not_before_it() -> None:
    (row,) = store(overdue=5)
    claimed = take(lease=30)
    with ThreadPoolExecutor(1) as pool, holding() as cursor:
        cursor.execute(INTENT, [row.intent.pk])
        marking = pool.submit(alone, partial(record, claimed))
        wait_until(lambda: waiting() == 1)
        cursor.execute(
            f"UPDATE {Delivery._meta.db_table} SET lease_expires_at = clock_timestamp() WHERE id = %s",
            [row.pk],
        )
        cursor.execute("COMMIT")
        assert marking.result(CEILING_SECONDS) == []
    assert states([row]) == [S.LEASED]
