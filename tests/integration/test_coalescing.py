"""When a request joins the account's intent that waits for a worker, and when a new one takes its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery.claims import release
from resetdelivery.clock import database_now
from resetdelivery.delivery import deliver
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import ChannelControl, Delivery, IdempotencyKey, ResetIntent
from resetdelivery.recovery import sweep
from resetdelivery.services import Admission, cancel_resets, request_reset
from tests.conftest import UseTransport, age
from tests.steps import BUSY, answer, record, seconds, store, take

pytestmark = pytest.mark.django_db

S = DeliveryState
Event = Callable[[Any], object]


def ask(account: Any, *channels: str, **options: Any) -> Admission:
    return request_reset(account_ref=str(account.pk), channels=list(channels) or ["email"], **options)


def test_clicking_again_joins_what_was_not_sent_yet(account: Any) -> None:
    first = ask(account, idempotency_key="1")
    again = [ask(account, idempotency_key=str(n)) for n in range(2, 12)]
    assert {a.reference for a in again} == {first.reference}
    assert all(a.coalesced and not a.replayed for a in again)
    assert (ResetIntent.objects.count(), Delivery.objects.count()) == (1, 1)
    assert IdempotencyKey.objects.filter(intent__reference=first.reference).count() == 11


def test_ten_clicks_on_a_backlog_are_one_message(account: Any, email: ScriptedTransport) -> None:
    for _ in range(10):
        ask(account)
    deliver(Channel.EMAIL)
    assert len(email.messages) == 1


def test_joining_extends_and_changes_nothing(account: Any) -> None:
    first = ask(account, lifetime=seconds(60), locale="en")
    joined = ask(account, lifetime=seconds(600), locale="de")
    intent = ResetIntent.objects.get()
    assert (joined.expires_at, intent.expires_at, intent.locale) == (
        first.expires_at,
        first.expires_at,
        "en",
    )


def test_a_subset_of_the_channels_joins(account: Any) -> None:
    both = ask(account, "email", "sms")
    assert ask(account, "sms").reference == both.reference


def test_a_replay_of_a_joined_request_finds_the_same_intent(account: Any) -> None:
    first = ask(account)
    ask(account, idempotency_key="k")
    replay = ask(account, idempotency_key="k")
    assert (replay.reference, replay.replayed, replay.coalesced) == (first.reference, True, False)


def more_channels(account: Any) -> dict[str, Any]:
    return {"channels": ["email", "sms"]}


def a_claim(account: Any) -> None:
    """Of nobody's row it would be the end, so what is held is joined no more than what has ended."""
    take()


def a_release(account: Any) -> None:
    release(take(), using="default")


def a_lease_that_ran_out(account: Any) -> None:
    take()
    age(60)
    sweep()


def an_attempt(account: Any) -> None:
    record(take())


def a_failed_attempt(account: Any) -> None:
    answer(record(take()), BUSY)


def an_end(account: Any) -> None:
    Delivery.objects.update(state="failed", finished_at=database_now(connection))


def a_new_password(account: Any) -> None:
    account.set_password("another horse")
    account.save()


def a_new_address(account: Any) -> None:
    account.email = "new@shop.example"
    account.save()


def a_new_number(account: Any) -> None:
    account.phone = "+4915100000000"
    account.save()


def deactivation(account: Any) -> None:
    account.is_active = False
    account.save()


def another_authority(account: Any) -> None:
    ChannelControl.objects.update_or_create(channel="email", defaults={"mode": "legacy"})


def little_time_left(account: Any) -> None:
    Delivery.objects.update(expires_at=database_now(connection) + seconds(6))


@pytest.mark.parametrize(
    "event",
    [
        more_channels,
        a_claim,
        a_release,
        a_lease_that_ran_out,
        an_attempt,
        a_failed_attempt,
        an_end,
        a_new_password,
        a_new_address,
        a_new_number,
        deactivation,
        another_authority,
        little_time_left,
    ],
)
def test_a_new_intent_takes_the_place_of_the_old_one_after(account: Any, event: Event) -> None:
    first = ask(account)
    changes = event(account) or {}
    assert isinstance(changes, dict)
    second = ask(account, *changes.get("channels", ["email"]))
    assert (second.coalesced, second.reference == first.reference) == (False, False)
    old = ResetIntent.objects.get(reference=first.reference)
    assert (old.cancel_requested_at is not None, old.cancel_reason) == (True, "superseded")


def test_a_request_after_a_cancel_is_a_new_intent(account: Any) -> None:
    first = ask(account)
    take()  # a worker holds it, so the intent stays open
    cancel_resets(account_ref=str(account.pk))
    second = ask(account)
    assert (second.coalesced, second.reference == first.reference) == (False, False)
    assert ResetIntent.objects.filter(state="open").count() == 2


def test_signing_in_does_not_stand_in_the_way(account: Any) -> None:
    first = ask(account)
    account.last_login = database_now(connection)
    account.save()
    assert ask(account).reference == first.reference


def test_what_is_superseded_and_unsent_ends_at_once(account: Any) -> None:
    first = ask(account, "email", "sms")
    Delivery.objects.filter(channel="sms").update(
        state="accepted", attempts=1, finished_at=database_now(connection)
    )
    ask(account, "email", "sms")
    old = ResetIntent.objects.get(reference=first.reference)
    mail = old.deliveries.get(channel="email")
    assert (mail.state, mail.reason, old.state) == (S.CANCELLED, "superseded", "closed")
    assert old.deliveries.get(channel="sms").state == S.ACCEPTED


def test_what_was_superseded_is_not_sent(account: Any, email: ScriptedTransport) -> None:
    ask(account)
    a_new_password(account)
    ask(account)
    deliver(Channel.EMAIL)
    assert len(email.messages) == 1
    assert sorted(Delivery.objects.values_list("state", flat=True)) == ["accepted", "cancelled"]


def test_a_retry_that_is_superseded_is_not_made(account: Any, use_transport: UseTransport) -> None:
    email = use_transport(Channel.EMAIL, ScriptedTransport(outcomes=[BUSY]))
    first = ask(account)
    deliver(Channel.EMAIL)
    ask(account)
    deliver(Channel.EMAIL)
    assert len(email.messages) == 2
    assert Delivery.objects.get(intent__reference=first.reference).state == S.CANCELLED


def test_accounts_do_not_join_each_other(make_account: Callable[..., Any], db: None) -> None:
    assert ask(make_account()).reference != ask(make_account()).reference


def test_a_retry_keeps_the_intent_of_another_account_out_of_it(account: Any) -> None:
    (stranger,) = store(overdue=5)
    ask(account)
    a_new_password(account)
    ask(account)
    stranger.refresh_from_db()
    assert stranger.state == S.PENDING
