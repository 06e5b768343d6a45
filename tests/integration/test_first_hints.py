"""What became of the hint that an admission owed, as its row says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from notifications.testing import ScriptedTransport
from resetdelivery import dispatch
from resetdelivery.clock import database_now
from resetdelivery.domain.telemetry import FirstHint
from resetdelivery.models import Delivery, ResetIntent
from resetdelivery.recovery import sweep
from resetdelivery.services import notify_password_changed, request_reset
from tests.brokers import Queue
from tests.conftest import age, the_delivery
from tests.later_words import ask_in_turn
from tests.steps import REFUSED, answer, record, seconds, store, take

pytestmark = pytest.mark.django_db


@pytest.fixture
def ask(account: Any, django_capture_on_commit_callbacks: Any) -> Callable[[], Delivery]:
    def request() -> Delivery:
        with django_capture_on_commit_callbacks(execute=True):
            request_reset(account_ref=str(account.pk), channels=["email"])
        return the_delivery()

    return request


def test_a_hint_that_the_broker_took_is_published(queue: Queue, ask: Callable[[], Delivery]) -> None:
    assert ask().first_hint == FirstHint.PUBLISHED
    assert len(queue.hints) == 1


def test_where_enough_hints_stand_in_the_queue_it_is_suppressed(
    queue: Queue, ask: Callable[[], Delivery]
) -> None:
    queue.length = 10_000
    delivery = ask()
    assert (delivery.first_hint, delivery.hinted_at) == (FirstHint.SUPPRESSED, None)


@pytest.mark.parametrize("lacking", ["is_up", "takes_messages"])
def test_without_a_broker_it_failed(queue: Queue, ask: Callable[[], Delivery], lacking: str) -> None:
    setattr(queue, lacking, False)
    delivery = ask()
    assert (delivery.first_hint, delivery.hinted_at) == (FirstHint.FAILED, None)


def test_where_nobody_is_hinted_at_none_is_owed(ask: Callable[[], Delivery]) -> None:
    assert ask().first_hint == FirstHint.NONE


def test_a_notices_hint_is_one_too(
    queue: Queue, account: Any, django_capture_on_commit_callbacks: Any
) -> None:
    queue.is_up = False
    with django_capture_on_commit_callbacks(execute=True):
        notify_password_changed(account_ref=str(account.pk))
    assert set(Delivery.objects.values_list("first_hint", flat=True)) == {FirstHint.FAILED}


def test_a_channel_that_waits_is_owed_none_and_gets_none_as_it_is_armed(
    queue: Queue, account: Any, email: ScriptedTransport, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        ask_in_turn(account)
    queue.is_up = False
    with django_capture_on_commit_callbacks(execute=True):
        answer(record(take(fill_after=0)), REFUSED)
    hints = dict(Delivery.objects.values_list("channel", "first_hint"))
    assert hints == {"email": FirstHint.PUBLISHED, "sms": FirstHint.NONE}
    assert Delivery.objects.get(channel="sms").state == "pending"


def test_a_request_that_joins_another_leaves_what_is_said_of_its_hint(
    queue: Queue, ask: Callable[[], Delivery]
) -> None:
    first = ask()
    queue.takes_messages = False
    again = ask()
    assert (again.pk, again.first_hint, again.hinted_at) == (first.pk, FirstHint.PUBLISHED, None)


def test_one_request_for_two_accounts_tells_what_is_new_from_what_it_joins(
    queue: Queue, make_account: Any, django_capture_on_commit_callbacks: Any
) -> None:
    old, new = make_account(email="shared@shop.example"), make_account(email="shared@shop.example")
    with django_capture_on_commit_callbacks(execute=True):
        request_reset(account_ref=str(old.pk), channels=["email"])
    queue.length = 10_000
    with django_capture_on_commit_callbacks(execute=True):
        request_reset(submitted="shared@shop.example", channels=["email"])
    hints = dict(Delivery.objects.values_list("intent__account_ref", "first_hint"))
    assert hints == {str(old.pk): FirstHint.PUBLISHED, str(new.pk): FirstHint.SUPPRESSED}


def unhint(rows: list[Delivery]) -> None:
    dispatch.note_unhinted([row.pk for row in rows], using="default", first_hint=FirstHint.FAILED)


def test_a_row_that_a_worker_has_already_says_so_as_well() -> None:
    rows = store(first_hint="published", hinted_at=database_now(connection))
    take(ids=[rows[0].pk])
    unhint(rows)
    delivery = the_delivery()
    assert (delivery.first_hint, delivery.state) == (FirstHint.FAILED, "leased")
    assert delivery.hinted_at is not None


def test_what_may_be_counted_already_is_left() -> None:
    rows = store(first_hint="published")
    ResetIntent.objects.update(created_at=database_now(connection) - seconds(25))
    unhint(rows)
    assert the_delivery().first_hint == FirstHint.PUBLISHED


def test_a_later_hint_that_fails_says_nothing_of_the_first(queue: Queue) -> None:
    store(first_hint="published")
    age(20)
    queue.takes_messages = False
    sweep()
    assert (the_delivery().first_hint, the_delivery().hinted_at) == (FirstHint.PUBLISHED, None)


@pytest.mark.parametrize("first_hint", [FirstHint.NONE, FirstHint.FAILED])
def test_a_row_of_which_nothing_is_taken_back_is_not_written(first_hint: FirstHint) -> None:
    rows = store(2, first_hint="suppressed", hinted_at=database_now(connection))
    take(ids=[rows[0].pk])
    Delivery.objects.filter(pk=rows[1].pk).update(hinted_at=None)
    before = versions()
    dispatch.note_unhinted([row.pk for row in rows], using="default", first_hint=first_hint)
    assert versions() == before


def versions() -> object:
    """What differs as soon as a delivery is written, changed or not."""
    if connection.vendor == "sqlite":
        return connection.connection.total_changes
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT id, ctid FROM {Delivery._meta.db_table} ORDER BY id")
        return cursor.fetchall()


def test_taking_a_hint_back_is_one_statement(django_assert_num_queries: Any) -> None:
    rows = store(3, first_hint="published")
    with django_assert_num_queries(1):
        unhint(rows)
