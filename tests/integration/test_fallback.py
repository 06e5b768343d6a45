"""One channel after the other: what arms the second, what makes it needless, and when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery import fallback
from resetdelivery.clock import database_now
from resetdelivery.conf import SettingsInvalid, get_settings
from resetdelivery.delivery import deliver
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import Attempt, ChannelControl, Delivery, ResetIntent
from resetdelivery.poller import Poller
from resetdelivery.recovery import expire_overdue, sweep, wake_due
from resetdelivery.services import cancel_resets, explain, request_reset
from tests.brokers import Queue
from tests.conftest import UseTransport, age
from tests.later_words import armed_by, ask_in_turn, attempt_of, hear, where
from tests.steps import (
    ACCEPTED,
    BUSY,
    LOCKED_OUT,
    REFUSED,
    answer,
    pause,
    record,
    seconds,
    take,
)

pytestmark = pytest.mark.django_db

S = DeliveryState
EMAIL, SMS = Channel.EMAIL, Channel.SMS
Settings = Callable[..., None]


@pytest.fixture
def with_receipts(change: Settings) -> None:
    """Email's provider tells us what arrived, and has a minute for it."""
    set_email(change, GIVES_RECEIPTS=True, FALLBACK_AFTER=seconds(60))


def set_email(change: Settings, **options: Any) -> None:
    email = {"TRANSPORT": "tests.transports.email", **options}
    change(CHANNELS={"email": email, "sms": {"TRANSPORT": "tests.transports.sms"}})


def settle_email(outcome: Any = ACCEPTED) -> None:
    answer(record(take(EMAIL)), outcome)


def is_closed() -> bool:
    return ResetIntent.objects.get().state == "closed"


# How it begins.


def test_the_second_channel_waits_for_its_arm_time(account: Any, with_receipts: None) -> None:
    intent = ask_in_turn(account)
    row = Delivery.objects.get(channel=SMS)
    assert (row.state, row.arm_at, row.hinted_at) == (S.WAITING, intent.created_at + seconds(60), None)
    assert Delivery.objects.get(channel=EMAIL).arm_at is None
    assert take(SMS) == []


def test_channels_used_all_at_once_have_no_arm_time(account: Any) -> None:
    request_reset(account_ref=str(account.pk), channels=["email", "sms"])
    assert not Delivery.objects.exclude(arm_at=None).exists()


@pytest.mark.usefixtures("with_receipts")
def test_a_waiting_channel_says_until_when(account: Any) -> None:
    intent = ask_in_turn(account)
    (waiting,) = [event for event in explain(intent.reference).events if event.channel == "sms"]
    assert waiting.text == "waits until then for the channel before it"
    assert waiting.at == intent.created_at + seconds(60)


# The first channel's endings.


def test_a_refused_first_channel_arms_the_second_at_once(account: Any) -> None:
    ask_in_turn(account)
    settle_email(REFUSED)
    row = Delivery.objects.get(channel=SMS)
    assert armed_by() == (S.PENDING, "failed")
    assert abs((row.due_at - database_now(connection)).total_seconds()) < 5
    assert not is_closed()
    assert [claimed.id for claimed in take(SMS)] == [row.pk]


def test_a_first_channel_without_a_destination_arms_the_second(
    make_account: Callable[..., Any], sms: ScriptedTransport
) -> None:
    ask_in_turn(make_account(email=""))
    deliver(EMAIL)
    deliver(SMS)
    assert where(EMAIL)[0] == S.FAILED
    assert where(SMS)[0] == S.ACCEPTED
    assert (len(sms.messages), is_closed()) == (1, True)


def test_a_first_channel_that_expires_arms_the_second_if_that_is_quicker(
    account: Any, change: Settings
) -> None:
    set_email(change, EXPECTED_LATENCY=seconds(30))
    ask_in_turn(account, lifetime=seconds(60))
    age(40)
    expire_overdue()
    assert where(EMAIL)[0] == S.EXPIRED
    assert armed_by() == (S.PENDING, "expired")


def test_acceptance_is_enough_where_no_receipts_come(account: Any) -> None:
    ask_in_turn(account)
    settle_email()
    assert where(SMS) == (S.CANCELLED, "not_needed")
    assert is_closed()


@pytest.mark.usefixtures("with_receipts")
def test_acceptance_is_not_enough_where_receipts_come(account: Any) -> None:
    ask_in_turn(account)
    settle_email()
    assert where(SMS)[0] == S.WAITING
    assert not is_closed()


@pytest.mark.usefixtures("with_receipts")
def test_a_delivered_receipt_makes_the_second_needless(account: Any) -> None:
    ask_in_turn(account)
    settle_email()
    hear(attempt_of(), "delivered")
    assert where(SMS) == (S.CANCELLED, "not_needed")
    assert is_closed()


@pytest.mark.usefixtures("with_receipts")
def test_a_bounce_with_life_left_arms_the_second(account: Any, sms: ScriptedTransport) -> None:
    intent = ask_in_turn(account)
    settle_email()
    age(30)
    hear(attempt_of(), "failed")
    assert armed_by() == (S.PENDING, "failed")
    deliver(SMS)
    assert (where(EMAIL), where(SMS)[0]) == ((S.FAILED, "mailbox_full"), S.ACCEPTED)
    told = [(event.channel, event.text) for event in explain(intent.reference).events]
    bounce = told.index(("email", "receipt for attempt 1: failed: mailbox full"))
    assert told[bounce + 1 : bounce + 3] == [
        ("email", "failed: mailbox full"),
        ("sms", "armed, as the channel before it failed"),
    ]
    assert is_closed()


@pytest.mark.usefixtures("with_receipts")
def test_a_bounce_without_life_left_arms_nothing(account: Any) -> None:
    ask_in_turn(account, lifetime=seconds(60))
    settle_email()
    age(55)
    hear(attempt_of(), "failed")
    assert where(SMS) == (S.CANCELLED, "not_needed")
    assert is_closed()


@pytest.mark.usefixtures("with_receipts")
def test_an_early_bounce_arms_the_second_as_the_first_settles(account: Any) -> None:
    ask_in_turn(account)
    marked = record(take(EMAIL))
    hear(attempt_of(), "failed")
    assert where(SMS)[0] == S.WAITING
    answer(marked, ACCEPTED)
    assert armed_by() == (S.PENDING, "failed")


def test_a_retry_of_the_first_arms_nothing_before_its_time(account: Any) -> None:
    ask_in_turn(account)
    settle_email(BUSY)
    assert where(SMS)[0] == S.WAITING
    assert fallback.arm_due() == 0


def change_password(account: Any) -> None:
    account.set_password("another one")
    account.save()


@pytest.mark.usefixtures("email")
@pytest.mark.parametrize(
    ("event", "reason"),
    [(change_password, "account_changed"), (lambda account: account.delete(), "unknown_account")],
)
def test_what_ends_the_first_for_the_account_ends_the_second(
    account: Any, event: Callable[[Any], None], reason: str
) -> None:
    ask_in_turn(account)
    event(account)
    deliver(EMAIL)
    assert where(EMAIL) == where(SMS) == (S.CANCELLED, reason)
    assert is_closed()


@pytest.mark.usefixtures("email")
@pytest.mark.parametrize(("mode", "state"), [("legacy", S.WITHHELD), ("shadow", S.SHADOWED)])
def test_a_channel_that_the_existing_sender_sends_arms_nothing(account: Any, mode: str, state: S) -> None:
    ChannelControl.objects.update_or_create(channel="email", defaults={"mode": mode})
    ask_in_turn(account)
    deliver(EMAIL)
    assert (where(EMAIL)[0], where(SMS)) == (state, (S.CANCELLED, "not_needed"))


def test_cancelling_ends_both(account: Any) -> None:
    ask_in_turn(account)
    cancel_resets(account_ref=str(account.pk))
    assert where(EMAIL) == where(SMS) == (S.CANCELLED, "withdrawn")
    assert is_closed()


# Pauses.


@pytest.mark.parametrize("held", [False, True])
def test_a_paused_first_channel_arms_the_second(account: Any, held: bool) -> None:
    ask_in_turn(account)
    if held:
        take(EMAIL)
    pause(EMAIL)
    assert fallback.arm_due() == 1
    assert armed_by() == (S.PENDING, "paused")


def test_a_channel_that_pauses_itself_arms_the_second_at_once(account: Any) -> None:
    ask_in_turn(account)
    settle_email(LOCKED_OUT)
    assert armed_by() == (S.PENDING, "paused")


def test_a_pause_of_another_channel_arms_nothing(account: Any) -> None:
    ask_in_turn(account)
    pause(SMS)
    assert fallback.arm_due() == 0


@pytest.mark.usefixtures("with_receipts")
def test_a_pause_after_the_first_was_sent_arms_nothing(account: Any) -> None:
    ask_in_turn(account)
    settle_email()
    pause(EMAIL)
    assert fallback.arm_due() == 0


# Arm times.


@pytest.mark.usefixtures("with_receipts")
@pytest.mark.parametrize("step", [wake_due, fallback.arm_due, lambda: Poller().run_once()])
def test_an_unconfirmed_first_channel_arms_the_second_when_its_time_has_come(
    account: Any, sms: ScriptedTransport, step: Callable[[], object]
) -> None:
    ask_in_turn(account)
    settle_email()
    age(59)
    step()
    assert where(SMS)[0] == S.WAITING
    age(2)
    step()
    assert armed_by()[1] == "unconfirmed"


def test_a_first_channel_that_nobody_serves_arms_the_second_in_time(account: Any) -> None:
    ask_in_turn(account)
    age(121)
    fallback.arm_due()
    assert armed_by() == (S.PENDING, "unconfirmed")


@pytest.mark.usefixtures("with_receipts")
def test_without_enough_life_at_its_time_the_second_is_not_needed(account: Any) -> None:
    ask_in_turn(account, lifetime=seconds(65))
    settle_email()
    age(61)
    assert fallback.arm_due() == 1
    assert where(SMS) == (S.CANCELLED, "not_needed")


@pytest.mark.usefixtures("with_receipts")
def test_a_second_channel_that_lapses_is_not_needed(account: Any) -> None:
    ask_in_turn(account, lifetime=seconds(30))
    settle_email()
    age(29)
    assert expire_overdue() == 1
    assert where(SMS) == (S.CANCELLED, "not_needed")
    assert is_closed()


@pytest.mark.usefixtures("with_receipts")
def test_more_than_a_batch_is_armed_in_one_step(
    make_account: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fallback, "BATCH", 2)
    for _ in range(5):
        ask_in_turn(make_account())
    age(61)
    assert fallback.arm_due() == 5
    assert Delivery.objects.filter(channel=SMS, state=S.PENDING).count() == 5


# An armed channel that turns out needless.


@pytest.mark.usefixtures("with_receipts")
@pytest.mark.parametrize("held", [False, True])
def test_an_armed_channel_is_not_sent_once_the_first_arrived(account: Any, held: bool) -> None:
    ask_in_turn(account)
    settle_email()
    age(61)
    fallback.arm_due()
    claimed = take(SMS) if held else []
    hear(attempt_of(), "delivered")
    assert where(SMS) == (S.CANCELLED, "not_needed")
    assert record(claimed) == []
    assert is_closed()


@pytest.mark.usefixtures("with_receipts")
def test_a_message_on_its_way_may_finish_after_the_first_arrived(account: Any) -> None:
    ask_in_turn(account)
    settle_email()
    age(61)
    fallback.arm_due()
    marked = record(take(SMS))
    hear(attempt_of(), "delivered")
    assert where(SMS)[0] == S.SUBMITTING
    answer(marked, BUSY)
    assert where(SMS) == (S.CANCELLED, "not_needed")
    assert Attempt.objects.get(delivery__channel=SMS).outcome == "transient"


def test_a_first_channel_that_resumes_in_time_takes_the_second_back(account: Any) -> None:
    ask_in_turn(account)
    pause(EMAIL)
    fallback.arm_due()
    ChannelControl.objects.filter(channel="email").update(paused=False)
    settle_email()
    assert where(SMS) == (S.CANCELLED, "not_needed")


# Recovery.


def test_a_lost_first_channel_arms_the_second_as_the_sweep_ends_it(account: Any) -> None:
    ask_in_turn(account)
    Delivery.objects.filter(channel=EMAIL).update(claims=9)
    record(take(EMAIL))
    age(21)
    sweep()
    assert where(EMAIL)[0] == S.FAILED
    assert armed_by() == (S.PENDING, "failed")


# Hints.


def test_an_armed_channel_is_hinted_at_after_the_commit(
    account: Any, hinted: list[int], django_capture_on_commit_callbacks: Any
) -> None:
    ask_in_turn(account)
    with django_capture_on_commit_callbacks(execute=True):
        settle_email(REFUSED)
        assert hinted == []
    assert hinted == [Delivery.objects.get(channel=SMS).pk]


def test_a_hint_that_was_lost_is_made_good_by_the_next_wake_up(account: Any, queue: Queue) -> None:
    ask_in_turn(account)
    settle_email(REFUSED)
    Delivery.objects.filter(channel=EMAIL).delete()
    assert wake_due() == 1
    assert Delivery.objects.get().hinted_at is not None
    assert wake_due() == 0


@pytest.mark.django_db(transaction=True)
def test_without_a_broker_or_poller_the_second_channel_goes_out_with_the_first(
    account: Any, change: Settings, use_transport: UseTransport, sms: ScriptedTransport
) -> None:
    change(DISPATCH="inline")
    use_transport(EMAIL, ScriptedTransport(outcomes=[REFUSED]))
    ask_in_turn(account)
    assert where(SMS)[0] == S.ACCEPTED
    assert len(sms.messages) == 1


@pytest.mark.django_db(transaction=True)
def test_inline_the_next_request_arms_what_waited_too_long(
    make_account: Callable[..., Any], change: Settings, email: ScriptedTransport, sms: ScriptedTransport
) -> None:
    set_email(change, GIVES_RECEIPTS=True)
    change(DISPATCH="inline")
    first = ask_in_turn(make_account())
    age(121)
    request_reset(account_ref=str(make_account().pk), channels=["email"])
    assert first.deliveries.get(channel=SMS).state == S.ACCEPTED


# Asking again.


@pytest.mark.parametrize(
    ("channels", "strategy", "joins"),
    [
        (["email", "sms"], "fallback", True),
        (["sms", "email"], "fallback", False),
        (["email", "sms"], "all", False),
        (["sms"], "all", False),
        (["email"], "all", False),
    ],
)
def test_a_request_joins_only_what_uses_its_channels_in_the_same_turns(
    account: Any, channels: list[str], strategy: str, joins: bool
) -> None:
    ask_in_turn(account)
    again = request_reset(account_ref=str(account.pk), channels=channels, strategy=strategy)
    assert again.coalesced is joins


def test_turns_do_not_join_channels_that_are_used_all_at_once(account: Any) -> None:
    request_reset(account_ref=str(account.pk), channels=["email", "sms"])
    ask_in_turn(account)
    assert ResetIntent.objects.filter(state="open").get().strategy == "fallback"


# Cost and settings.


def test_settling_takes_as_many_statements_for_one_as_for_many(make_account: Callable[..., Any]) -> None:
    for _ in range(4):
        ask_in_turn(make_account())
    first, others = record(take(EMAIL, limit=1)), record(take(EMAIL))
    with CaptureQueriesContext(connection) as one:
        answer(first, REFUSED)
    with CaptureQueriesContext(connection) as many:
        answer(others, REFUSED)
    assert len(many) == len(one)
    assert Delivery.objects.filter(channel=SMS, state=S.PENDING).count() == 4


def test_the_setting_is_a_truth_value(change: Settings) -> None:
    set_email(change, GIVES_RECEIPTS="yes")
    with pytest.raises(SettingsInvalid, match="must be True or False, not str"):
        get_settings()
