from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections, transaction

from notifications.channels import Channel
from resetdelivery.domain.states import DeliveryState
from resetdelivery.exceptions import (
    InvalidAccountRef,
    InvalidChannels,
    InvalidExpiry,
    InvalidIdempotencyKey,
    InvalidOption,
    InvalidRequest,
)
from resetdelivery.models import Delivery, IdempotencyKey, ResetIntent
from resetdelivery.services import Admission, arequest_reset, request_reset
from tests.steps import seconds

pytestmark = pytest.mark.django_db

MakeAccount = Callable[..., Any]
Request = dict[str, Any]
Settings = Callable[..., None]


def rows() -> tuple[int, int, int]:
    return ResetIntent.objects.count(), Delivery.objects.count(), IdempotencyKey.objects.count()


# What is stored.


def test_a_request_is_stored_as_an_intent_with_a_delivery_per_channel(account: Any) -> None:
    admission = request_reset(account_ref=str(account.pk), channels=["sms", "email"])
    intent = ResetIntent.objects.get(reference=admission.reference)
    first, second = intent.deliveries.order_by("position")
    assert (first.channel, second.channel) == ("sms", "email")
    assert {first.state, second.state} == {DeliveryState.PENDING}
    assert {first.authority, second.authority} == {"pipeline"}
    assert (admission.expires_at, admission.replayed, admission.coalesced) == (
        intent.expires_at,
        False,
        False,
    )


def test_under_fallback_all_but_the_first_channel_wait(account: Any) -> None:
    request_reset(account_ref=str(account.pk), channels=["sms", "email"], strategy="fallback")
    states = list(Delivery.objects.order_by("position").values_list("state", flat=True))
    assert states == ["pending", "waiting"]


def test_an_expiry_is_absolute_and_in_whole_seconds(account: Any) -> None:
    admission = request_reset(account_ref=str(account.pk), channels=["email"], lifetime=seconds(300))
    intent = ResetIntent.objects.get()
    assert admission.expires_at.microsecond == 0
    assert seconds(299) <= admission.expires_at - intent.created_at <= seconds(300)


def test_a_text_message_lives_ten_minutes_at_most_and_the_email_goes_on(account: Any) -> None:
    request_reset(account_ref=str(account.pk), channels=["email", "sms"], lifetime=dt.timedelta(hours=1))
    intent = ResetIntent.objects.get()
    lives = {d.channel: d.expires_at - intent.created_at for d in intent.deliveries.all()}
    assert seconds(3599) <= lives["email"] <= seconds(3600)
    assert seconds(599) <= lives["sms"] <= seconds(600)


def test_a_short_reset_is_as_short_on_each_channel(account: Any) -> None:
    request_reset(account_ref=str(account.pk), channels=["email", "sms"], lifetime=seconds(60))
    intent = ResetIntent.objects.get()
    assert {d.expires_at for d in intent.deliveries.all()} == {intent.expires_at}


def test_an_asynchronous_view_stores_the_same(transactional_db: None, make_account: MakeAccount) -> None:
    ref = str(make_account().pk)
    first = request_reset(account_ref=ref, channels=["email"], idempotency_key="k")

    async def view() -> Admission:
        try:
            return await arequest_reset(account_ref=ref, channels=["email"], idempotency_key="k")
        finally:
            await sync_to_async(connections.close_all)()

    again = asyncio.run(view())
    assert (again.reference, again.replayed) == (first.reference, True)


def test_another_database_alias_can_be_named(account: Any) -> None:
    request_reset(account_ref=str(account.pk), channels=["email"], using="default")
    with pytest.raises(Exception, match="nowhere"):
        request_reset(account_ref=str(account.pk), channels=["email"], using="nowhere")


# Bad input.

SECRET = "anna.karenina@shop.example"
BAD: list[tuple[type[InvalidRequest], dict[str, Any]]] = [
    (InvalidChannels, {"channels": ["fax"]}),
    (InvalidChannels, {"channels": [SECRET]}),
    (InvalidChannels, {"channels": []}),
    (InvalidChannels, {"channels": "email"}),
    (InvalidExpiry, {"expires_at": dt.datetime(2030, 1, 1)}),  # noqa: DTZ001
    (InvalidExpiry, {"expires_at": dt.datetime(2020, 1, 1, tzinfo=dt.UTC)}),
    (InvalidExpiry, {"expires_at": dt.datetime(9999, 1, 1, tzinfo=dt.UTC)}),
    (InvalidExpiry, {"lifetime": dt.timedelta(days=400)}),
    (InvalidExpiry, {"lifetime": seconds(7)}),
    (InvalidExpiry, {"lifetime": seconds(0)}),
    (InvalidExpiry, {"lifetime": seconds(-60)}),
    (InvalidExpiry, {"lifetime": 600}),
    (InvalidExpiry, {"lifetime": seconds(60), "expires_at": dt.datetime(2030, 1, 1, tzinfo=dt.UTC)}),
    (InvalidAccountRef, {"account_ref": SECRET * 10}),
    (InvalidAccountRef, {"account_ref": SECRET + "\x00"}),
    (InvalidAccountRef, {"account_ref": ""}),
    (InvalidAccountRef, {"account_ref": 7}),
    (InvalidAccountRef, {"account_ref": None}),
    (InvalidAccountRef, {"submitted": SECRET}),
    (InvalidAccountRef, {"account_ref": None, "submitted": SECRET + "\n"}),
    (InvalidIdempotencyKey, {"idempotency_key": SECRET * 10}),
    (InvalidIdempotencyKey, {"idempotency_key": ""}),
    (InvalidIdempotencyKey, {"idempotency_key": b"key"}),
    (InvalidIdempotencyKey, {"client": SECRET * 3}),
    (InvalidOption, {"strategy": "maybe"}),
    (InvalidOption, {"locale": SECRET}),
    (InvalidOption, {"locale": "../en"}),
    (InvalidOption, {"template_version": "no-such-version"}),
    (InvalidOption, {"template_version": "../1"}),
]


@pytest.mark.parametrize(("error", "changes"), BAD)
def test_bad_input_gets_its_own_error_and_no_row(
    account: Any, error: type[InvalidRequest], changes: dict[str, Any]
) -> None:
    request: Request = {"account_ref": str(account.pk), "channels": ["email"], **changes}
    with pytest.raises(error) as refused:
        request_reset(**request)
    assert SECRET not in str(refused.value)
    assert rows() == (0, 0, 0)


# Hints.


@pytest.mark.django_db(transaction=True)
def test_a_hint_follows_the_commit_and_not_the_call(make_account: MakeAccount, hinted: list[int]) -> None:
    ref = str(make_account().pk)
    with transaction.atomic():
        request_reset(account_ref=ref, channels=["email", "sms"])
        assert hinted == []
    assert sorted(hinted) == sorted(Delivery.objects.values_list("pk", flat=True))


def ask_and_fail(ref: str) -> None:
    with transaction.atomic():
        request_reset(account_ref=ref, channels=["email"])
        raise ZeroDivisionError


@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_is_rolled_back_leaves_no_row_and_no_hint(
    make_account: MakeAccount, hinted: list[int]
) -> None:
    with pytest.raises(ZeroDivisionError):
        ask_and_fail(str(make_account().pk))
    assert (rows(), hinted) == ((0, 0, 0), [])


@pytest.mark.django_db(transaction=True)
def test_a_nested_block_that_is_rolled_back_takes_its_hint_with_it(
    make_account: MakeAccount, hinted: list[int]
) -> None:
    kept, lost = str(make_account().pk), str(make_account().pk)
    with transaction.atomic():
        request_reset(account_ref=kept, channels=["email"])
        with pytest.raises(ZeroDivisionError):
            ask_and_fail(lost)
    assert hinted == [Delivery.objects.get().pk]


@pytest.mark.django_db(transaction=True)
def test_a_waiting_channel_is_not_hinted_at(make_account: MakeAccount, hinted: list[int]) -> None:
    request_reset(account_ref=str(make_account().pk), channels=["email", "sms"], strategy="fallback")
    assert hinted == [Delivery.objects.get(channel=Channel.EMAIL).pk]


@pytest.mark.parametrize(("boundary", "noted"), [("broker", True), ("database", False), ("inline", False)])
def test_a_row_is_noted_as_hinted_only_where_hints_exist(
    account: Any, change: Settings, boundary: str, noted: bool
) -> None:
    change(DISPATCH=boundary)
    request_reset(account_ref=str(account.pk), channels=["email"])
    assert (Delivery.objects.get().hinted_at is not None) is noted


def test_an_answer_can_be_shown_without_naming_anyone(account: Any) -> None:
    shown = repr(request_reset(submitted=account.email, channels=["email"]))
    assert str(ResetIntent.objects.get().reference) in shown
    assert account.email not in shown
