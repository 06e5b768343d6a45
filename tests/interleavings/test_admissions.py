"""Two people, or two clicks, at one moment."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery.delivery import deliver
from resetdelivery.exceptions import IdempotencyConflict
from resetdelivery.models import Delivery, IdempotencyKey, ResetIntent
from resetdelivery.pseudonyms import lock_numbers
from resetdelivery.services import Admission, cancel_resets, request_reset
from tests.interleavings.racing import (
    CEILING_SECONDS,
    alone,
    behind,
    holding,
    together,
    wait_until,
    waiting,
)
from tests.steps import seconds, store

ADVISORY = "SELECT pg_advisory_xact_lock(%s)"


def ask(ref: str, *, key: str | None = None, **options: Any) -> Admission:
    return request_reset(account_ref=ref, idempotency_key=key, **{"channels": ["email"], **options})


def ask_or_conflict(ref: str, **options: Any) -> Admission | None:
    try:
        return ask(ref, **options)
    except IdempotencyConflict:
        return None


def test_requests_for_one_account_at_once_give_one_open_intent(account: Any) -> None:
    ref = str(account.pk)
    lock = lock_numbers("account lock", ref)
    answers = behind(ADVISORY, lock, *[partial(ask, ref)] * 4)
    assert len({a.reference for a in answers}) == 1
    assert sorted(a.coalesced for a in answers) == [False, True, True, True]
    assert (ResetIntent.objects.count(), Delivery.objects.count()) == (1, 1)


def test_requests_for_an_unknown_account_wait_for_each_other_too(db: None) -> None:
    lock = lock_numbers("account lock", "nobody")
    answers = behind(ADVISORY, lock, *[partial(ask, "nobody")] * 3)
    assert len({a.reference for a in answers}) == 1


def test_one_request_sent_twice_at_once_is_one_intent_and_one_replay(account: Any) -> None:
    ref = str(account.pk)
    lock = lock_numbers("key lock", "local", "k")
    answers = behind(ADVISORY, lock, *[partial(ask, ref, key="k")] * 4)
    assert len({a.reference for a in answers}) == 1
    assert sorted(a.replayed for a in answers) == [False, True, True, True]
    assert IdempotencyKey.objects.count() == 1


def test_two_requests_under_one_key_at_once_are_one_intent_and_one_conflict(account: Any) -> None:
    ref = str(account.pk)
    lock = lock_numbers("key lock", "local", "k")
    one, other = behind(
        ADVISORY,
        lock,
        partial(ask_or_conflict, ref, key="k", lifetime=seconds(60)),
        partial(ask_or_conflict, ref, key="k", lifetime=seconds(90)),
    )
    assert (one is None) is not (other is None)
    assert ResetIntent.objects.count() == 1


def test_one_key_at_once_for_two_accounts_is_one_intent_and_one_conflict(
    make_account: Callable[..., Any], db: None
) -> None:
    refs = [str(make_account().pk) for _ in range(2)]
    lock = lock_numbers("key lock", "local", "k")
    answers = behind(ADVISORY, lock, *[partial(ask_or_conflict, ref, key="k") for ref in refs])
    assert [a is None for a in answers].count(True) == 1
    assert ResetIntent.objects.count() == 1


def test_accounts_do_not_wait_for_each_other(make_account: Callable[..., Any], db: None) -> None:
    first, second = (str(make_account().pk) for _ in range(2))
    with holding() as cursor:
        cursor.execute(ADVISORY, lock_numbers("account lock", first))
        ask(second)
    assert ResetIntent.objects.get().account_ref == second


def test_shared_addresses_asked_for_at_once_do_not_deadlock(
    make_account: Callable[..., Any], db: None
) -> None:
    for _ in range(4):
        make_account(email="family@shop.example")
    step = partial(request_reset, submitted="family@shop.example", channels=["email", "sms"])
    answers = together(*[step] * 6)
    assert len({a.reference for a in answers}) == 1
    assert ResetIntent.objects.filter(state="open").count() == 4


def test_ten_clicks_at_once_on_a_backlog_are_one_intent_and_one_send(
    account: Any, email: ScriptedTransport
) -> None:
    store(100, overdue=60)
    answers = together(*[partial(ask, str(account.pk))] * 10)
    assert len({a.reference for a in answers}) == 1
    while deliver(Channel.EMAIL, fill_at_once=True):
        pass
    assert len(email.messages) == 1


def test_a_cancel_and_a_request_at_once_leave_at_most_the_request(account: Any) -> None:
    ref = str(account.pk)
    first = ask(ref)
    intent = ResetIntent.objects.get(reference=first.reference)
    answer, _ = behind(
        f"SELECT 1 FROM {ResetIntent._meta.db_table} WHERE id = %s FOR UPDATE",
        [intent.pk],
        partial(ask, ref, channels=["email", "sms"]),
        partial(cancel_resets, account_ref=ref),
    )
    assert isinstance(answer, Admission)
    intent.refresh_from_db()
    assert (intent.state, intent.cancel_requested_at is not None) == ("closed", True)
    assert ResetIntent.objects.filter(state="open").count() <= 1


@pytest.mark.parametrize("times", range(3))
def test_a_unique_open_intent_survives_any_order(account: Any, times: int) -> None:
    ref = str(account.pk)
    together(
        partial(ask, ref),
        partial(ask, ref, channels=["email", "sms"]),
        partial(ask, ref, channels=["sms"]),
        partial(ask, ref, lifetime=seconds(120)),
    )
    assert ResetIntent.objects.filter(state="open", cancel_requested_at=None).count() == 1


def test_a_shared_address_locks_its_intents_in_the_order_in_which_everybody_does(
    make_account: Callable[..., Any],
) -> None:
    """Else a settling wave that holds the older intent could deadlock with the admission, and lose."""
    first, second = (make_account(email="family@example.com") for _ in range(2))
    for account in (second, first):
        request_reset(account_ref=str(account.pk), channels=["email"])
    Delivery.objects.update(lease_token=1, attempts=1)
    older, newer = ResetIntent.objects.order_by("pk").values_list("pk", flat=True)
    table = ResetIntent._meta.db_table
    with ThreadPoolExecutor(1) as pool, holding() as cursor:
        cursor.execute(f"SELECT 1 FROM {table} WHERE id = %s FOR UPDATE", [older])
        asked = pool.submit(alone, lambda: request_reset(submitted="family@example.com", channels=["email"]))
        wait_until(lambda: waiting() == 1)
        # Refused at once if the admission already held it.
        cursor.execute(f"SELECT 1 FROM {table} WHERE id = %s FOR UPDATE NOWAIT", [newer])
        cursor.execute("COMMIT")
        cursor.execute("BEGIN")
        assert not asked.result(CEILING_SECONDS).coalesced
