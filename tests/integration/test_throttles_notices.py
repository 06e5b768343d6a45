"""What notices of changed passwords may cost by text message: they pay, and each number has a meter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import redis

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery.delivery import deliver
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import Delivery
from resetdelivery.services import notify_password_changed, request_reset
from tests.conftest import UseTransport, age
from tests.integration.conftest import Settings
from tests.steps import BUSY

pytestmark = pytest.mark.django_db

S = DeliveryState
SMS = Channel.SMS
MakeAccount = Callable[..., Any]


def change_passwords(account: Any, times: int) -> None:
    for number in range(times):
        account.set_password(f"horse number {number}")
        account.save()
        notify_password_changed(account_ref=str(account.pk))


def test_a_password_changed_in_a_loop_is_told_by_three_text_messages_and_then_by_email_alone(
    limits: redis.Redis[bytes], account: Any, email: ScriptedTransport, sms: ScriptedTransport
) -> None:
    change_passwords(account, 5)
    deliver(SMS, fill_at_once=True)
    deliver(Channel.EMAIL, fill_at_once=True)
    assert (len(sms.messages), len(email.messages)) == (3, 5)
    refused = Delivery.objects.filter(state=S.FAILED)
    assert [(one.channel, one.reason) for one in refused] == [("sms", "sms_prefix_limit")] * 2


def test_notices_to_one_number_hold_up_none_to_another(
    limits: redis.Redis[bytes], make_account: MakeAccount, sms: ScriptedTransport
) -> None:
    for _ in range(2):  # neighbours in one range
        change_passwords(make_account(), 4)
    deliver(SMS, fill_at_once=True)
    assert len({one.to for one in sms.messages}) == 2
    assert len(sms.messages) == 6


def test_two_accounts_with_one_number_share_its_notices(
    limits: redis.Redis[bytes], make_account: MakeAccount, sms: ScriptedTransport
) -> None:
    for _ in range(2):
        change_passwords(make_account(phone="+4915112345678"), 2)
    deliver(SMS, fill_at_once=True)
    assert len(sms.messages) == 3


def test_a_notice_that_is_tried_again_is_not_counted_again(
    limits: redis.Redis[bytes], account: Any, use_transport: UseTransport
) -> None:
    sms = use_transport(SMS, ScriptedTransport(outcomes=[BUSY] * 3))
    change_passwords(account, 3)
    for _ in range(2):
        deliver(SMS, fill_at_once=True)
        age(60)
    assert len(sms.messages) == 6


def test_a_notice_pays_and_is_refused_by_no_budget_and_no_range(
    limits: redis.Redis[bytes], change: Settings, make_account: MakeAccount, sms: ScriptedTransport
) -> None:
    change(PREFIX_PER_HOUR=1, SMS_SEGMENTS_PER_HOUR=1)
    change_passwords(make_account(), 2)
    deliver(SMS, fill_at_once=True)
    request_reset(account_ref=str(make_account().pk), channels=["sms"])
    deliver(SMS, fill_at_once=True)
    assert Delivery.objects.get(state=S.FAILED).reason == "sms_budget_spent"
    assert len(sms.messages) == 2


def test_a_notice_uses_up_no_range(
    limits: redis.Redis[bytes], change: Settings, make_account: MakeAccount, sms: ScriptedTransport
) -> None:
    change(PREFIX_PER_HOUR=1)
    change_passwords(make_account(phone="+4915112345001"), 1)
    request_reset(account_ref=str(make_account(phone="+4915112345002").pk), channels=["sms"])
    deliver(SMS, fill_at_once=True)
    assert len(sms.messages) == 2
