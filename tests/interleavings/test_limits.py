"""Limits hold to the last one, and locks are given up in time, whoever comes at the same moment."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery.account_locks import bounded_waits
from resetdelivery.delivery import deliver
from resetdelivery.directory import get_directory
from resetdelivery.domain.idempotency import lock_number
from resetdelivery.exceptions import AccountBusy, InvalidExpiry
from resetdelivery.limits import limit_keys
from resetdelivery.models import Delivery, IdempotencyKey, LimitUse, ResetIntent
from resetdelivery.pseudonyms import lock_numbers
from resetdelivery.services import Admission, request_reset
from tests.interleavings.racing import CEILING_SECONDS, alone, holding, together, wait_until, waiting
from tests.steps import seconds

ADVISORY = "SELECT pg_advisory_xact_lock(%s)"
CROWD = 50
MARKED = "marked-key"

MakeAccount = Callable[..., Any]


@pytest.fixture
def change(settings: Any) -> Callable[..., None]:
    def change_settings(**values: Any) -> None:
        settings.RESETDELIVERY = {**settings.RESETDELIVERY, **values}

    return change_settings


def destination_locks(account: Any) -> list[int]:
    """The numbers of an account's mailbox and telephone, in that order."""
    ref = str(account.pk)
    known = get_directory().get_many([ref])[ref]
    keys = limit_keys(ref, known, list(Channel)).destinations
    return [lock_number(keys[channel].name.partition(":")[2]) for channel in (Channel.EMAIL, Channel.SMS)]


def ask(ref: str, *channels: str, **options: Any) -> Admission:
    return request_reset(account_ref=ref, channels=list(channels) or ["email"], **options)


def send_all() -> None:
    for channel in Channel:
        while deliver(channel, fill_at_once=True):
            pass


# To the last one.


def test_fifty_at_once_for_one_account_send_no_more_than_its_limit(
    account: Any, change: Callable[..., None], email: ScriptedTransport
) -> None:
    change(ACCOUNT_PER_HOUR=3)
    together(*[partial(ask, str(account.pk))] * CROWD)
    send_all()
    assert 1 <= len(email.messages) <= 3


def ask_and_hand_over(ref: str) -> Admission:
    """A request that none can join: before anybody sees it, a provider has it."""
    with transaction.atomic():
        answer = ask(ref)
        Delivery.objects.filter(intent__reference=answer.reference).update(lease_token=1, attempts=1)
    return answer


def test_fifty_at_once_that_cannot_join_are_counted_to_the_last_one(
    account: Any, change: Callable[..., None]
) -> None:
    change(ACCOUNT_PER_HOUR=3)
    answers = together(*[partial(ask_and_hand_over, str(account.pk))] * CROWD)
    assert len({answer.reference for answer in answers}) == CROWD
    sent = ResetIntent.objects.exclude(cancel_reason="account_limit")
    assert (sent.count(), LimitUse.objects.filter(counted=True).count()) == (3, 6)
    assert LimitUse.objects.count() == 2 * CROWD


def test_fifty_at_once_on_differing_channels_are_counted_to_the_last_one(
    account: Any, change: Callable[..., None], email: ScriptedTransport, sms: ScriptedTransport
) -> None:
    change(ACCOUNT_PER_HOUR=3)
    ways = [
        (["email"], "all"),
        (["sms"], "all"),
        (["email", "sms"], "fallback"),
        (["sms", "email"], "fallback"),
    ]
    together(
        *[
            partial(ask, str(account.pk), *channels, strategy=strategy)
            for channels, strategy in (ways * CROWD)[:CROWD]
        ]
    )
    assert ResetIntent.objects.exclude(cancel_reason="account_limit").count() <= 3
    send_all()
    assert 1 <= len(email.messages) + len(sms.messages) <= 3


def test_many_accounts_at_once_send_one_mailbox_no_more_than_its_limit(
    make_account: MakeAccount, change: Callable[..., None], email: ScriptedTransport
) -> None:
    change(DESTINATION_PER_HOUR=3)
    refs = [str(make_account(email="family@shop.example").pk) for _ in range(12)]
    together(*[partial(ask, ref) for ref in refs])
    send_all()
    assert len(email.messages) == 3


def test_nobody_is_counted_to_the_last_one_too(change: Callable[..., None]) -> None:
    change(ACCOUNT_PER_HOUR=3)
    together(*[partial(ask_and_hand_over, "nobody")] * 12)
    assert ResetIntent.objects.exclude(cancel_reason="account_limit").count() == 3


def test_accounts_that_share_destinations_crosswise_do_not_deadlock(make_account: MakeAccount) -> None:
    """Each waits for the other's mailbox or telephone, and takes them in one order."""
    one = make_account(email="a@shop.example", phone="+4915100000001")
    other = make_account(email="b@shop.example", phone="+4915100000002")
    third = make_account(email="a@shop.example", phone="+4915100000002")
    fourth = make_account(email="b@shop.example", phone="+4915100000001")
    steps = [
        partial(ask, str(account.pk), *channels)
        for account in (one, other, third, fourth)
        for channels in (("email", "sms"), ("sms", "email"))
    ]
    for _ in range(5):
        together(*steps)
    assert ResetIntent.objects.filter(state="open", cancel_requested_at=None).count() == 4


@pytest.mark.parametrize("channels", [("email", "sms"), ("sms", "email")])
def test_destinations_are_locked_in_one_order_however_they_are_asked_for(
    account: Any, channels: tuple[str, ...]
) -> None:
    first, second = sorted(destination_locks(account))
    with ThreadPoolExecutor(1) as pool:
        with holding() as cursor:
            cursor.execute(ADVISORY, [first])
            asked = pool.submit(alone, lambda: ask(str(account.pk), *channels))
            wait_until(lambda: waiting() == 1)
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [second])
            assert cursor.fetchone() == (True,)
        assert not asked.result(CEILING_SECONDS).coalesced


# In time.


@contextmanager
def held(number: int) -> Iterator[None]:
    """Somebody holds an advisory lock, for as long as the block lasts."""
    with holding() as cursor:
        cursor.execute(ADVISORY, [number])
        yield


@pytest.fixture
def _impatient(change: Callable[..., None]) -> None:
    change(ADMISSION_LOCK_TIMEOUT=seconds(0.05))


LOCKS: dict[str, tuple[Callable[[Any], int], str]] = {
    "key": (lambda account: lock_numbers("key lock", "local", MARKED)[0], "key"),
    "account": (lambda account: lock_numbers("account lock", str(account.pk))[0], "account"),
    "destination": (lambda account: destination_locks(account)[0], "account"),
}


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize("name", list(LOCKS))
def test_a_lock_that_is_not_to_be_had_in_time_is_an_error_of_its_own(account: Any, name: str) -> None:
    lock, of = LOCKS[name]
    with held(lock(account)), pytest.raises(AccountBusy) as busy:
        ask(str(account.pk), idempotency_key=MARKED)
    assert busy.value.of == of
    assert "send it again" in str(busy.value)
    assert not ResetIntent.objects.exists()
    assert not IdempotencyKey.objects.exists()
    assert not LimitUse.objects.exists()
    told = "".join(traceback.format_exception(busy.value))
    assert MARKED not in told
    assert "LockNotAvailable" not in told


@pytest.mark.usefixtures("_impatient")
def test_an_open_intent_that_somebody_holds_is_waited_for_no_longer(account: Any) -> None:
    ask(str(account.pk))
    with holding() as cursor:
        cursor.execute(f"SELECT 1 FROM {ResetIntent._meta.db_table} FOR UPDATE")
        with pytest.raises(AccountBusy):
            ask(str(account.pk))


@pytest.mark.usefixtures("_impatient")
def test_what_was_refused_is_admitted_when_it_is_sent_again(account: Any) -> None:
    with held(lock_numbers("account lock", str(account.pk))[0]), pytest.raises(AccountBusy):
        ask(str(account.pk), idempotency_key="k")
    assert not ask(str(account.pk), idempotency_key="k").replayed


@pytest.mark.usefixtures("_impatient")
def test_the_forgot_page_asks_to_send_it_again(account: Any, client: Client) -> None:
    page = "/accounts/forgot/"
    with held(lock_numbers("account lock", str(account.pk))[0]):
        busy = client.post(page, {"email": account.email})
    assert busy.status_code == 503
    assert b"send it again" in busy.content
    assert client.post(page, {"email": account.email}).status_code == 302


def lock_timeout() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        return str(cursor.fetchone()[0])


def test_inside_the_wait_is_bounded_and_afterwards_as_before(change: Callable[..., None]) -> None:
    change(ADMISSION_LOCK_TIMEOUT=seconds(1.5))
    with transaction.atomic():
        before = lock_timeout()
        with bounded_waits(using="default"):
            assert lock_timeout() == "1500ms"
        assert lock_timeout() == before != "1500ms"


@pytest.mark.parametrize("own", ["0", "7s"])
def test_a_callers_own_lock_timeout_is_as_it_was(account: Any, own: str) -> None:
    """After a request, a replay, a request that was refused, and one that was rolled back."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [own])
        for _ in range(2):
            ask(str(account.pk), idempotency_key="k")
            assert lock_timeout() == own
        with pytest.raises(InvalidExpiry):
            ask(str(account.pk), lifetime=seconds(1))
        assert lock_timeout() == own


def test_a_callers_own_transaction_goes_on_after_it_was_refused(
    account: Any, make_account: MakeAccount, change: Callable[..., None]
) -> None:
    change(ADMISSION_LOCK_TIMEOUT=seconds(0.05))
    other = make_account()
    with held(lock_numbers("account lock", str(account.pk))[0]), transaction.atomic():
        before = lock_timeout()
        with pytest.raises(AccountBusy):
            ask(str(account.pk))
        assert lock_timeout() == before
        ask(str(other.pk))
    assert ResetIntent.objects.get().account_ref == str(other.pk)


def test_two_callers_that_ask_for_two_accounts_crosswise_are_not_both_refused(
    make_account: MakeAccount,
) -> None:
    """Each in one transaction of its own: PostgreSQL finds the circle and one of them is busy."""
    first, second = (str(make_account().pk) for _ in range(2))
    met = threading.Barrier(2)

    def ask_both(one: str, other: str) -> bool:
        try:
            with transaction.atomic():
                ask(one)
                met.wait(CEILING_SECONDS)
                ask(other)
        except AccountBusy:
            return False
        return True

    done = together(partial(ask_both, first, second), partial(ask_both, second, first))
    assert sorted(done) == [False, True]
    assert ResetIntent.objects.count() == 2
