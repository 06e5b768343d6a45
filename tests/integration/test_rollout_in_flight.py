"""What is under way keeps its sender, whatever steps the rollout takes; and one sender has a whole chain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery.clock import database_now
from resetdelivery.delivery import deliver
from resetdelivery.domain.states import OPEN_STATES, Authority, DeliveryState
from resetdelivery.models import Attempt, Delivery
from resetdelivery.recovery import expire_overdue, sweep
from resetdelivery.services import Admission, request_reset
from tests.conftest import UseTransport, age
from tests.senders import CHANGED, POSITIONS, TABLE, move, no_authority_changes, number_of, senders_of
from tests.steps import ACCEPTED, CUT, REFUSED, answer, record, store, take

pytestmark = pytest.mark.django_db

A, S = Authority, DeliveryState
EMAIL, SMS = Channel.EMAIL, Channel.SMS
BOTH = ["email", "sms"]


def ask(account: Any, *channels: str, **options: Any) -> Admission:
    return request_reset(account_ref=str(account.pk), channels=list(channels) or ["email"], **options)


# Several channels.


@pytest.mark.parametrize("second", list(POSITIONS))
@pytest.mark.parametrize("first", list(POSITIONS))
def test_channels_that_wait_for_each_other_have_one_sender(
    account: Any, use_transport: UseTransport, sms: ScriptedTransport, first: str, second: str
) -> None:
    email = use_transport(EMAIL, ScriptedTransport(outcomes=[REFUSED]))
    move(EMAIL, first)
    move(SMS, second)
    admitted = ask(account, *BOTH, strategy="fallback")
    ours = first == second == "live"
    assert admitted.legacy_channels == (() if ours else (EMAIL, SMS))
    assert (A.PIPELINE in senders_of(admitted).values()) is ours
    kept = {"email": POSITIONS[first], "sms": POSITIONS[second]}
    assert senders_of(admitted) == {
        name: A.SHADOW if own is A.PIPELINE and not ours else own for name, own in kept.items()
    }
    run_to_the_end()
    assert (len(email.messages), len(sms.messages)) == ((1, 1) if ours else (0, 0))


@pytest.mark.parametrize("second", list(POSITIONS))
@pytest.mark.parametrize("first", list(POSITIONS))
def test_channels_that_are_used_at_once_have_each_its_own_sender(
    account: Any, email: ScriptedTransport, sms: ScriptedTransport, first: str, second: str
) -> None:
    modes = {EMAIL: first, SMS: second}
    for channel, mode in modes.items():
        move(channel, mode)
    told = ask(account, *BOTH).legacy_channels
    run_to_the_end()
    sent = {EMAIL: len(email.messages), SMS: len(sms.messages)}
    assert {channel: sent[channel] + (channel in told) for channel in Channel} == {EMAIL: 1, SMS: 1}
    assert told == tuple(channel for channel, mode in modes.items() if mode != "live")


def test_an_account_goes_by_the_smallest_slice_of_channels_that_wait_for_each_other(account: Any) -> None:
    move(SMS, "live", number_of(str(account.pk)))
    assert ask(account, *BOTH, strategy="fallback").legacy_channels == (EMAIL, SMS)
    assert ask(account, "email", strategy="fallback").legacy_channels == ()


def run_to_the_end() -> None:
    for _ in range(4):
        for channel in Channel:
            deliver(channel, fill_at_once=True)
        age(130)
        sweep()
        expire_overdue()
    assert not Delivery.objects.filter(state__in=OPEN_STATES).exists()


# What is stored stays.


def leave_pending(_: Delivery) -> None:
    """Nobody has taken it yet."""


def lease(row: Delivery) -> None:
    take(ids=[row.pk])


def lease_and_abandon(row: Delivery) -> None:
    take(ids=[row.pk])
    age(60)
    sweep()


def try_and_wait(row: Delivery) -> None:
    answer(record(take(ids=[row.pk])), CUT)


def submit(row: Delivery) -> None:
    record(take(ids=[row.pk]))


def be_accepted(row: Delivery) -> None:
    answer(record(take(ids=[row.pk])), ACCEPTED)


def end(_: Delivery) -> None:
    deliver(EMAIL, fill_at_once=True)


@pytest.mark.parametrize("after", list(POSITIONS))
@pytest.mark.parametrize("before", list(POSITIONS))
@pytest.mark.parametrize(
    "stage", [leave_pending, lease, lease_and_abandon, try_and_wait, submit, be_accepted, end]
)
def test_a_step_of_the_rollout_changes_no_sender_of_what_is_under_way(
    account: Any,
    email: ScriptedTransport,
    before: str,
    after: str,
    stage: Callable[[Delivery], None],
) -> None:
    move(EMAIL, before)
    first = ask(account)
    stage(Delivery.objects.get())
    move(EMAIL, after)
    with no_authority_changes():
        run_to_the_end()
    row = Delivery.objects.get()
    tries = Attempt.objects.count()
    assert first.legacy_channels == (() if before == "live" else (EMAIL,))
    if before == "live":
        assert (row.authority, row.state) == (A.PIPELINE, S.ACCEPTED)
        assert tries >= 1
    else:
        assert (row.authority, tries, email.messages) == (POSITIONS[before], 0, [])


def test_a_waiting_channel_keeps_its_sender_too(
    account: Any, email: ScriptedTransport, sms: ScriptedTransport
) -> None:
    ask(account, *BOTH, strategy="fallback")
    for channel in Channel:
        move(channel, "legacy")
    age(130)
    with no_authority_changes():
        run_to_the_end()
    assert {row.authority for row in Delivery.objects.all()} == {A.PIPELINE}
    assert len(email.messages) + len(sms.messages) >= 1


@pytest.mark.parametrize("authority", [A.LEGACY, A.SHADOW])
def test_the_database_lets_nothing_of_an_existing_senders_be_submitted(authority: Authority) -> None:
    (row,) = store(authority=authority)
    take(ids=[row.pk])
    with pytest.raises(IntegrityError, match="resetdelivery_delivery_sender"), transaction.atomic():
        run_sql(f"UPDATE {TABLE} SET state = 'submitting' WHERE id = %s", row.pk)
    row.refresh_from_db()
    assert row.state == S.LEASED


@pytest.mark.parametrize("authority", [A.LEGACY, A.SHADOW])
def test_the_database_lets_nothing_that_is_being_submitted_become_an_existing_senders_of(
    authority: Authority,
) -> None:
    (row,) = store()
    record(take(ids=[row.pk]))
    with pytest.raises(IntegrityError, match="resetdelivery_delivery_sender"), transaction.atomic():
        run_sql(f"UPDATE {TABLE} SET authority = '{authority}' WHERE id = %s", row.pk)


def test_what_watches_over_authorities_sees_a_change(db: None) -> None:
    (row,) = store()
    with no_authority_changes():
        run_sql(f"UPDATE {TABLE} SET authority = 'pipeline', due_at = %s WHERE id = %s", now(), row.pk)
        with pytest.raises(DatabaseError, match=CHANGED), transaction.atomic():
            run_sql(f"UPDATE {TABLE} SET authority = 'legacy' WHERE id = %s", row.pk)


def now() -> Any:
    return database_now(connection)


def run_sql(sql: str, *params: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
