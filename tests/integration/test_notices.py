"""Everybody who can be reached is told that the password was changed."""

from __future__ import annotations

import datetime as dt
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.test import Client

from notifications.channels import Channel
from resetdelivery import notices
from resetdelivery.cancellation import request_cancel
from resetdelivery.domain.reasons import CancelReason
from resetdelivery.domain.states import DeliveryState, IntentKind
from resetdelivery.exceptions import InvalidAccountRef
from resetdelivery.models import Delivery, IdempotencyKey, LimitUse, ResetIntent
from resetdelivery.services import (
    Notice,
    cancel_intent,
    cancel_resets,
    notify_password_changed,
    request_reset,
)
from resetdelivery.testing import deliver_now
from tests.integration.conftest import Settings
from tests.steps import seconds

pytestmark = pytest.mark.django_db

S = DeliveryState
CEILING_SECONDS = 20.0


def changed(account: Any, password: str = "another horse") -> Notice:
    """The notice of a password that was just changed."""
    account.set_password(password)
    account.save()
    notice = notify_password_changed(account_ref=str(account.pk))
    assert notice is not None
    return notice


def of(notice: Notice) -> list[Delivery]:
    return list(Delivery.objects.filter(intent__reference=notice.reference).order_by("position"))


def states(notice: Notice) -> list[str]:
    return [row.state for row in of(notice)]


def test_every_contact_point_is_told_at_once(account: Any) -> None:
    changed(account)
    messages = deliver_now()
    assert [(one.channel, one.to) for one in messages] == [
        (Channel.EMAIL, account.email),
        (Channel.SMS, account.phone),
    ]
    assert all("password was changed" in one.text or "was changed just now" in one.text for one in messages)


def test_a_notice_holds_no_link(account: Any) -> None:
    changed(account)
    assert [one.link for one in deliver_now()] == ["", ""]


def test_an_account_without_a_number_is_told_by_email_alone(make_account: Any, db: None) -> None:
    notice = changed(make_account(phone=""))
    assert [row.channel for row in of(notice)] == ["email"]


def test_an_account_that_nobody_can_reach_has_no_notice(make_account: Any, db: None) -> None:
    unreachable = make_account(phone="", email="")
    assert notify_password_changed(account_ref=str(unreachable.pk)) is None
    assert not ResetIntent.objects.exists()


def test_an_unknown_account_has_no_notice(db: None) -> None:
    assert notify_password_changed(account_ref="4711") is None


@pytest.mark.parametrize("ref", ["", "   ", 7, "a" * 256])
def test_a_reference_of_no_usable_form_is_refused(db: None, ref: Any) -> None:
    with pytest.raises(InvalidAccountRef):
        notify_password_changed(account_ref=ref)


def test_a_notice_lives_an_hour_and_by_sms_ten_minutes(account: Any) -> None:
    notice = changed(account)
    intent = ResetIntent.objects.get()
    assert (intent.kind, intent.strategy, intent.expires_at) == ("security_notice", "all", notice.expires_at)
    lives = [round((row.expires_at - intent.created_at) / seconds(60)) for row in of(notice)]
    assert lives == [60, 10]


def test_its_lifetime_is_a_setting(account: Any, change: Settings) -> None:
    change(NOTICE_LIFETIME=dt.timedelta(minutes=5))
    lives = {round((row.expires_at - row.due_at) / seconds(60)) for row in of(changed(account))}
    assert lives == {5}


def test_two_calls_for_one_change_are_one_notice(account: Any) -> None:
    first = changed(account)
    again = notify_password_changed(account_ref=str(account.pk))
    assert again == Notice(reference=first.reference, expires_at=first.expires_at, replayed=True)
    assert (ResetIntent.objects.count(), IdempotencyKey.objects.count()) == (1, 1)


def test_the_next_change_is_told_too(account: Any) -> None:
    changed(account)
    changed(account, "a third horse")
    assert ResetIntent.objects.count() == 2
    assert len(deliver_now()) == 4


def test_a_second_call_is_recognised_after_the_keys_rotated(account: Any, change: Settings) -> None:
    changed(account)
    change(PSEUDONYM_KEYS={"t2": "a newer pseudonym key for tests", "t1": "a pseudonym key for tests"})
    again = notify_password_changed(account_ref=str(account.pk))
    assert again is not None
    assert again.replayed


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("postgres_only")
def test_two_calls_at_once_are_one_notice(account: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    both_looked = threading.Barrier(2, timeout=CEILING_SECONDS)
    plain = notices._stored

    def stored_together(*args: Any) -> Notice:
        both_looked.wait()
        return plain(*args)

    def call() -> Notice | None:
        try:
            return notify_password_changed(account_ref=str(account.pk))
        finally:
            connections.close_all()

    monkeypatch.setattr(notices, "_stored", stored_together)
    with ThreadPoolExecutor(2) as pool:
        told = [future.result(CEILING_SECONDS) for future in (pool.submit(call), pool.submit(call))]
    assert sorted(one.replayed for one in told if one) == [False, True]
    assert ResetIntent.objects.count() == 1


def test_a_notice_of_a_transaction_that_is_undone_is_gone(account: Any) -> None:
    with transaction.atomic():
        changed(account)
        transaction.set_rollback(True)
    assert not ResetIntent.objects.exists()


def test_workers_hear_of_it_after_the_commit(
    account: Any, hinted: list[int], django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        notice = changed(account)
        assert hinted == []
    assert sorted(hinted) == sorted(row.pk for row in of(notice))


# Beside resets.


def test_a_notice_neither_ends_a_reset_nor_is_joined_by_one(account: Any) -> None:
    request_reset(account_ref=str(account.pk), channels=["email", "sms"])
    notice = changed(account)
    later = request_reset(account_ref=str(account.pk), channels=["email", "sms"])
    assert not later.coalesced
    assert later.reference != notice.reference
    assert states(notice) == [S.PENDING, S.PENDING]
    assert ResetIntent.objects.filter(kind=IntentKind.SECURITY_NOTICE, cancel_requested_at=None).exists()


def test_a_request_joins_the_open_reset_beside_a_notice(account: Any) -> None:
    changed(account)
    first = request_reset(account_ref=str(account.pk), channels=["email", "sms"])
    second = request_reset(account_ref=str(account.pk), channels=["email", "sms"])
    assert (second.coalesced, second.reference) == (True, first.reference)


def test_an_open_reset_is_not_stopped_by_a_notice(account: Any) -> None:
    asked = request_reset(account_ref=str(account.pk), channels=["email"])
    notify_password_changed(account_ref=str(account.pk))
    assert ResetIntent.objects.get(reference=asked.reference).cancel_requested_at is None
    assert {one.link != "" for one in deliver_now()} == {True, False}


def test_withdrawing_an_accounts_resets_leaves_its_notice(account: Any) -> None:
    notice = changed(account)
    assert cancel_resets(account_ref=str(account.pk)) == 0
    assert not cancel_intent(notice.reference)
    assert request_cancel(account_ref=str(account.pk), reason=CancelReason.SUPERSEDED, using="default") == 0
    assert len(deliver_now()) == 2


def test_the_limits_of_resets_do_not_hold_for_notices(account: Any, change: Settings) -> None:
    change(ACCOUNT_PER_HOUR=1, ACCOUNT_PER_DAY=1, DESTINATION_PER_HOUR=1, DESTINATION_PER_DAY=1)
    request_reset(account_ref=str(account.pk), channels=["email"])
    used = LimitUse.objects.count()
    for number in range(3):
        changed(account, f"horse number {number}")
    assert LimitUse.objects.count() == used
    told = [one for one in deliver_now() if not one.link]
    assert len(told) == 6


# What it costs, and where it shows.


def test_the_account_is_asked_once_and_the_writes_are_few(account: Any) -> None:
    with _Counted() as counted:
        notify_password_changed(account_ref=str(account.pk))
    tables = [sql.split('"')[1] for sql in counted.statements if sql.startswith("INSERT")]
    assert tables == ["resetdelivery_resetintent", "resetdelivery_delivery", "resetdelivery_idempotencykey"]
    assert sum("marketplace_user" in sql for sql in counted.statements) == 1


class _Counted:
    """The statements that are run inside."""

    def __enter__(self) -> _Counted:
        self.statements: list[str] = []
        self._wrapper = connection.execute_wrapper(self._note)
        self._wrapper.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._wrapper.__exit__(None, None, None)

    def _note(self, execute: Any, sql: str, *args: Any) -> Any:
        self.statements.append(sql)
        return execute(sql, *args)


def test_the_admin_tells_notices_from_resets(account: Any, admin_client: Client) -> None:
    request_reset(account_ref=str(account.pk), channels=["email"])
    changed(account)
    where = "/admin/resetdelivery/resetintent/"
    shown = {
        kind: [row.kind for row in admin_client.get(where, {"kind__exact": kind}).context["cl"].result_list]
        for kind in ("reset", "security_notice")
    }
    assert shown == {"reset": ["reset"], "security_notice": ["security_notice"]}
