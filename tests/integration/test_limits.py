"""How many resets one account may ask for, and what happens to one too many."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery.clock import database_now
from resetdelivery.delivery import deliver
from resetdelivery.exceptions import IdempotencyConflict, InvalidExpiry
from resetdelivery.limits import limit_keys
from resetdelivery.models import ChannelControl, Delivery, LimitUse, ResetIntent
from resetdelivery.services import Admission, cancel_resets, explain, request_reset
from tests.conftest import UseTransport, age
from tests.steps import BUSY, seconds

pytestmark = pytest.mark.django_db

Settings = Callable[..., None]
MakeAccount = Callable[..., Any]

HOUR, DAY = 3600, 24 * 3600


@pytest.fixture(autouse=True)
def _three_an_hour(change: Settings) -> None:
    change(ACCOUNT_PER_HOUR=3, ACCOUNT_PER_DAY=8)


def ask(account: Any, *channels: str, **options: Any) -> Admission:
    return request_reset(account_ref=str(account.pk), channels=list(channels) or ["email"], **options)


def ask_and_settle(account: Any, times: int = 1) -> list[Admission]:
    """Requests of which none can join the one before."""
    answers = []
    for _ in range(times):
        answers.append(ask(account))
        deliver(Channel.EMAIL)
    return answers


def intent(answer: Admission) -> ResetIntent:
    return ResetIntent.objects.get(reference=answer.reference)


def is_limited(answer: Admission) -> bool:
    return intent(answer).cancel_reason == "account_limit"


def counted() -> int:
    return LimitUse.objects.filter(counted=True).count()


# One too many.


def test_what_exceeds_the_limit_is_not_sent(account: Any, email: ScriptedTransport) -> None:
    answers = ask_and_settle(account, 5)
    assert len(email.messages) == 3
    assert [is_limited(answer) for answer in answers] == [False, False, False, True, True]


def test_a_suppressed_request_ends_at_the_gate_with_its_reason(
    account: Any, email: ScriptedTransport
) -> None:
    *_, last = ask_and_settle(account, 4)
    row = Delivery.objects.get(intent__reference=last.reference)
    assert (row.state, row.reason, row.attempts) == ("cancelled", "account_limit", 0)
    assert intent(last).state == "closed"


def test_the_answer_to_one_too_many_is_like_any_other(account: Any, email: ScriptedTransport) -> None:
    answers = ask_and_settle(account, 3)
    last = ask(account, lifetime=seconds(120))
    assert last.reference not in {answer.reference for answer in answers}
    assert (last.coalesced, last.replayed) == (False, False)
    lifetime = last.expires_at - intent(last).created_at
    assert seconds(119) <= lifetime <= seconds(120)


def test_one_too_many_leaves_what_was_asked_for_before_alone(
    account: Any, change: Settings, use_transport: UseTransport
) -> None:
    change(ACCOUNT_PER_HOUR=1)
    email = use_transport(Channel.EMAIL, ScriptedTransport(outcomes=[BUSY]))
    first = ask(account)
    deliver(Channel.EMAIL)
    assert is_limited(ask(account))
    deliver(Channel.EMAIL)
    assert len(email.messages) == 2
    assert Delivery.objects.get(intent__reference=first.reference).state == "accepted"


def test_one_too_many_is_not_joined_by_the_next(account: Any, email: ScriptedTransport) -> None:
    ask_and_settle(account, 3)
    fourth, fifth = ask(account), ask(account)
    assert fourth.reference != fifth.reference
    assert not fifth.coalesced


def test_one_too_many_joins_what_was_not_sent_yet(account: Any, change: Settings) -> None:
    change(ACCOUNT_PER_HOUR=1)
    first = ask(account)
    again = [ask(account) for _ in range(5)]
    assert {answer.reference for answer in again} == {first.reference}
    assert intent(first).cancel_reason == ""


def test_one_too_many_is_withdrawn_like_any_other_and_keeps_its_reason(
    account: Any, email: ScriptedTransport
) -> None:
    ask_and_settle(account, 3)
    last = ask(account)
    cancel_resets(account_ref=str(account.pk))
    assert intent(last).cancel_reason == "account_limit"


def test_accounts_do_not_use_up_each_others_limits(
    account: Any, make_account: MakeAccount, email: ScriptedTransport
) -> None:
    ask_and_settle(account, 4)
    assert not is_limited(ask(make_account()))


def test_a_typed_address_and_a_reference_are_one_account(account: Any, email: ScriptedTransport) -> None:
    ask_and_settle(account, 3)
    assert is_limited(request_reset(submitted=account.email.upper(), channels=["email"]))


def test_nobody_is_limited_like_everybody(db: None, email: ScriptedTransport) -> None:
    for typed in ("nobody@shop.example", "Nobody@Shop.Example", " nobody@shop.example"):
        request_reset(submitted=typed, channels=["email"])
        deliver(Channel.EMAIL)
    assert is_limited(request_reset(submitted="nobody@shop.example", channels=["email"]))


def test_an_existing_sender_is_not_told_to_send_one_too_many(account: Any, email: ScriptedTransport) -> None:
    ask_and_settle(account, 2)
    ChannelControl.objects.update_or_create(channel="email", defaults={"mode": "legacy"})
    third, fourth = ask_and_settle(account, 2)
    assert (third.legacy_channels, fourth.legacy_channels) == ((Channel.EMAIL,), ())


# Windows.


@pytest.mark.parametrize(
    ("ages", "limited"),
    [
        ([10, 20, 30], True),
        ([10, 20, HOUR - 5], True),
        ([10, 20, HOUR + 5], False),
        ([HOUR + 5] * 7, False),
        ([HOUR + 5] * 8, True),
        ([10, 20, *[HOUR + 5] * 5], False),
        ([10, 20, *[HOUR + 5] * 6], True),
        ([HOUR + 5] * 7 + [DAY - 5], True),
        ([HOUR + 5] * 7 + [DAY + 5], False),
    ],
)
def test_a_window_reaches_from_now_back_and_no_further(account: Any, ages: list[int], limited: bool) -> None:
    name, now = limit_keys(str(account.pk), None, []).account.name, database_now(connection)
    LimitUse.objects.bulk_create(
        LimitUse(key_digest=name, used_at=now - seconds(back), counted=True) for back in ages
    )
    assert is_limited(ask(account)) is limited


def test_what_was_suppressed_makes_nobody_wait_longer(account: Any, email: ScriptedTransport) -> None:
    ask_and_settle(account, 3)
    age(HOUR - 60)
    assert all(is_limited(answer) for answer in ask_and_settle(account, 10))
    age(61)
    assert not is_limited(ask(account))


# What uses nothing.


def test_a_request_that_joins_uses_nothing_and_extends_nothing(
    account: Any, email: ScriptedTransport
) -> None:
    first = ask(account, lifetime=seconds(120))
    used = counted()
    again = [ask(account, lifetime=seconds(600)) for _ in range(5)]
    assert {answer.expires_at for answer in again} == {first.expires_at}
    assert counted() == used
    deliver(Channel.EMAIL)
    assert not any(is_limited(answer) for answer in ask_and_settle(account, 2))


def test_a_replay_uses_nothing(account: Any, email: ScriptedTransport) -> None:
    first = ask(account, idempotency_key="k")
    deliver(Channel.EMAIL)
    rows = LimitUse.objects.count()
    again = [ask(account, idempotency_key="k") for _ in range(5)]
    assert {(a.reference, a.replayed) for a in again} == {(first.reference, True)}
    assert LimitUse.objects.count() == rows


def test_a_replay_is_answered_where_a_new_request_would_be_suppressed(
    account: Any, email: ScriptedTransport
) -> None:
    first = ask(account, idempotency_key="k")
    deliver(Channel.EMAIL)
    ask_and_settle(account, 3)
    assert ask(account, idempotency_key="k").reference == first.reference


def test_what_is_refused_uses_nothing(account: Any) -> None:
    ask(account, idempotency_key="k")
    rows = LimitUse.objects.count()
    with pytest.raises(InvalidExpiry):
        ask(account, lifetime=seconds(1))
    with pytest.raises(IdempotencyConflict):
        ask(account, "sms", idempotency_key="k")
    assert LimitUse.objects.count() == rows


def test_what_is_rolled_back_uses_nothing(account: Any) -> None:
    with transaction.atomic():
        ask(account)
        transaction.set_rollback(True)
    assert not LimitUse.objects.exists()


# Keys, logs and stories.


def test_uses_are_found_under_an_older_key_and_not_without_it(
    account: Any, change: Settings, email: ScriptedTransport
) -> None:
    change(PSEUDONYM_KEYS={"old": "the old key"})
    ask_and_settle(account, 2)
    change(PSEUDONYM_KEYS={"new": "the new key", "old": "the old key"})
    ask_and_settle(account)
    assert is_limited(ask(account))
    change(PSEUDONYM_KEYS={"new": "the new key"})
    assert not is_limited(ask(account))


@pytest.mark.django_db(transaction=True)
def test_a_log_line_says_that_a_limit_was_used_up_and_not_whose(
    account: Any, email: ScriptedTransport, caplog: pytest.LogCaptureFixture
) -> None:
    ask_and_settle(account, 3)
    caplog.set_level(logging.INFO)
    last = ask(account)
    (line,) = [record for record in caplog.records if "reset_suppressed" in record.getMessage()]
    told = line.getMessage()
    assert "account" in told
    for word in (account.email, account.phone, str(last.reference), LimitUse.objects.first().key_digest):  # type: ignore[union-attr]
        assert word not in told


def test_the_timeline_says_which_limit_was_used_up(account: Any, email: ScriptedTransport) -> None:
    *_, last = ask_and_settle(account, 4)
    told = [event.text for event in explain(last.reference).events]
    assert "not to be sent: the account's limit is used up" in told
    assert "cancelled: account limit" in told


def test_no_address_and_no_reference_is_in_a_use(account: Any) -> None:
    request_reset(submitted=account.email, channels=["email", "sms"])
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {LimitUse._meta.db_table}")
        shown = repr(cursor.fetchall())
    assert LimitUse.objects.count() == 3
    assert account.email not in shown
    assert account.phone.strip("+") not in shown
