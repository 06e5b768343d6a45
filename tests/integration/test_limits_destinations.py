"""How many resets one mailbox, and one telephone, may be sent over all accounts."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery.delivery import deliver
from resetdelivery.models import ChannelControl, Delivery, LimitUse, ResetIntent
from resetdelivery.services import Admission, explain, request_reset
from tests.conftest import UseTransport, age
from tests.steps import BUSY

pytestmark = pytest.mark.django_db

Settings = Callable[..., None]
MakeAccount = Callable[..., Any]

EMAIL, SMS = Channel.EMAIL, Channel.SMS
HOUR = 3600
FAMILY = "family@shop.example"


@pytest.fixture(autouse=True)
def _one_an_hour(change: Settings) -> None:
    change(DESTINATION_PER_HOUR=1, DESTINATION_PER_DAY=2)


@pytest.fixture
def family(make_account: MakeAccount, db: None) -> list[Any]:
    """Three accounts with one mailbox and a telephone each."""
    return [make_account(email=FAMILY) for _ in range(3)]


def ask(account: Any, *channels: str, **options: Any) -> Admission:
    return request_reset(account_ref=str(account.pk), channels=list(channels) or ["email"], **options)


def settle() -> None:
    for channel in Channel:
        deliver(channel)


def intent(answer: Admission) -> ResetIntent:
    return ResetIntent.objects.get(reference=answer.reference)


def row(answer: Admission, channel: Channel = EMAIL) -> Delivery:
    return Delivery.objects.get(intent__reference=answer.reference, channel=channel)


def ends(answer: Admission) -> dict[str, tuple[str, str]]:
    return {d.channel: (d.state, d.reason) for d in intent(answer).deliveries.all()}


# One too many.


def test_one_mailbox_is_not_flooded_by_way_of_several_accounts(
    family: list[Any], email: ScriptedTransport, sms: ScriptedTransport
) -> None:
    for member in family:
        ask(member, "email", "sms")
        settle()
    assert (len(email.messages), len(sms.messages)) == (1, 3)


def test_one_telephone_is_not_flooded_by_way_of_several_accounts(
    make_account: MakeAccount, db: None, sms: ScriptedTransport
) -> None:
    for number in ("+5491123456789", "+541123456789", "+54 9 1123456789"):
        ask(make_account(phone=number), "sms")
        settle()
    assert len(sms.messages) == 1


def test_spellings_of_one_mailbox_share_its_limit(
    make_account: MakeAccount, db: None, email: ScriptedTransport
) -> None:
    for address in ("anna@shop.example", "Anna@Shop.Example", "ANNA@shop.example"):
        ask(make_account(email=address))
        settle()
    assert len(email.messages) == 1


def test_one_channel_ends_at_the_gate_and_the_other_is_sent(
    family: list[Any], email: ScriptedTransport, sms: ScriptedTransport
) -> None:
    ask(family[0])
    settle()
    second = ask(family[1], "email", "sms")
    assert row(second).suppressed == "destination_limit"
    settle()
    assert ends(second) == {"email": ("failed", "destination_limit"), "sms": ("accepted", "ok")}
    assert (intent(second).cancel_reason, row(second).attempts) == ("", 0)


def test_a_channel_that_waits_behind_a_suppressed_one_is_used(
    family: list[Any], email: ScriptedTransport, sms: ScriptedTransport
) -> None:
    ask(family[0])
    settle()
    second = ask(family[1], "email", "sms", strategy="fallback")
    assert row(second, SMS).state == "waiting"
    settle()
    assert ends(second)["sms"] == ("accepted", "ok")
    assert row(second, SMS).arm_reason == "failed"


def test_a_suppressed_channel_that_waits_is_not_sent_when_it_is_armed(
    family: list[Any], make_account: MakeAccount, sms: ScriptedTransport
) -> None:
    ask(family[0])
    settle()
    relative = make_account(email=FAMILY, phone="")
    second = ask(relative, "sms", "email", strategy="fallback")
    deliver(SMS)
    settle()
    assert ends(second) == {"sms": ("failed", "no_destination"), "email": ("failed", "destination_limit")}


def test_a_request_of_which_nothing_may_be_sent_ends_as_a_whole(
    family: list[Any], email: ScriptedTransport
) -> None:
    ask(family[0])
    settle()
    second = ask(family[1])
    assert intent(second).cancel_reason == "destination_limit"
    settle()
    assert ends(second) == {"email": ("cancelled", "destination_limit")}
    assert len(email.messages) == 1


def test_a_request_of_which_nothing_may_be_sent_leaves_the_one_before_alone(
    family: list[Any], use_transport: UseTransport
) -> None:
    email = use_transport(EMAIL, ScriptedTransport(outcomes=[BUSY]))
    first = ask(family[0])
    settle()
    assert intent(ask(family[0])).cancel_reason == "destination_limit"
    settle()
    assert len(email.messages) == 2
    assert ends(first) == {"email": ("accepted", "ok")}


def test_an_account_without_a_destination_is_limited_as_if_it_had_one(
    make_account: MakeAccount, db: None, sms: ScriptedTransport
) -> None:
    nobody = make_account(phone="")
    first = ask(nobody, "sms")
    settle()
    second = ask(nobody, "sms")
    assert [intent(one).cancel_reason for one in (first, second)] == ["", "destination_limit"]


def test_an_existing_sender_is_not_told_to_send_a_suppressed_channel(
    family: list[Any], email: ScriptedTransport, sms: ScriptedTransport
) -> None:
    ask(family[0])
    settle()
    for channel in Channel:
        ChannelControl.objects.update_or_create(channel=channel.value, defaults={"mode": "legacy"})
    assert ask(family[1], "email", "sms").legacy_channels == (SMS,)


# What is counted.


def test_a_typed_address_counts_once_however_many_share_it(
    family: list[Any], change: Settings, email: ScriptedTransport
) -> None:
    change(DESTINATION_PER_HOUR=2)
    for _ in range(3):
        request_reset(submitted=FAMILY, channels=["email"])
        settle()
    assert len(email.messages) == 2 * len(family)


def test_a_typed_address_that_is_shared_leaves_one_use_for_it_and_one_for_each_account(
    family: list[Any],
) -> None:
    request_reset(submitted=FAMILY, channels=["email"])
    assert LimitUse.objects.filter(counted=True).count() == 1 + len(family)
    assert LimitUse.objects.values("key_digest").distinct().count() == LimitUse.objects.count()


def test_a_suppressed_channel_makes_nobody_wait_longer(
    family: list[Any], email: ScriptedTransport, sms: ScriptedTransport
) -> None:
    ask(family[0])
    settle()
    age(HOUR - 60)
    ask(family[1], "email", "sms")
    settle()
    age(61)
    ask(family[2])
    settle()
    assert len(email.messages) == 2


def test_an_account_whose_request_was_suppressed_has_used_nothing(
    family: list[Any], change: Settings, email: ScriptedTransport
) -> None:
    change(ACCOUNT_PER_HOUR=1)
    ask(family[0])
    settle()
    ask(family[1])
    settle()
    age(HOUR + 1)
    assert intent(ask(family[1])).cancel_reason == ""


def test_a_day_has_its_own_limit(family: list[Any], email: ScriptedTransport) -> None:
    for _ in range(3):
        ask(family[0])
        settle()
        age(HOUR + 1)
    assert len(email.messages) == 2


# Joining.


def test_a_suppressed_channel_is_joined_as_long_as_it_would_be_suppressed_again(
    family: list[Any], sms: ScriptedTransport
) -> None:
    """Else each click would begin the other channel anew."""
    ask(family[0])
    first = ask(family[1], "email", "sms")
    again = [ask(family[1], "email", "sms") for _ in range(3)]
    assert {answer.reference for answer in again} == {first.reference}
    deliver(EMAIL)
    assert ask(family[1], "email", "sms").reference == first.reference


def test_a_suppressed_channel_is_asked_for_anew_once_it_may_be_sent_again(
    family: list[Any], change: Settings, email: ScriptedTransport
) -> None:
    ask(family[0])
    first = ask(family[1], "email", "sms")
    change(DESTINATION_PER_HOUR=2)
    second = ask(family[1], "email", "sms")
    assert (second.reference == first.reference, second.coalesced) == (False, False)
    assert intent(first).cancel_reason == "superseded"
    settle()
    assert ends(second)["email"] == ("accepted", "ok")


def test_what_will_be_sent_is_joined_though_the_limit_was_used_up_since(family: list[Any]) -> None:
    first = ask(family[0])
    again = ask(family[0])
    assert (again.reference, again.coalesced, row(first).suppressed) == (first.reference, True, "")


# Logs and stories.


@pytest.mark.django_db(transaction=True)
def test_a_log_line_names_the_channel_and_nobody(
    make_account: MakeAccount, email: ScriptedTransport, caplog: pytest.LogCaptureFixture
) -> None:
    one, other = make_account(email=FAMILY), make_account(email=FAMILY)
    ask(one)
    caplog.set_level(logging.INFO)
    ask(other, "email", "sms")
    (line,) = [r.getMessage() for r in caplog.records if "reset_suppressed" in r.getMessage()]
    assert ("destination" in line, "email" in line, "sms" in line) == (True, True, False)
    assert FAMILY not in line


def test_the_timeline_says_which_channel_is_not_to_be_sent(
    family: list[Any], email: ScriptedTransport
) -> None:
    ask(family[0])
    second = ask(family[1], "email", "sms")
    told = [(event.channel, event.text) for event in explain(second.reference).events]
    assert ("email", "due, but not to be sent: destination limit") in told
    deliver(EMAIL)
    told = [(event.channel, event.text) for event in explain(second.reference).events]
    assert ("email", "failed: destination limit") in told
