"""What happens to a notice between its being stored and its arrival."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from notifications.channels import Channel
from notifications.message import EmailMessage
from notifications.testing import ScriptedTransport
from resetdelivery.delivery import deliver
from resetdelivery.directory import get_directory
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import ChannelControl, ResetIntent
from resetdelivery.pseudonyms import account_digest_parts, is_pseudonym_of
from resetdelivery.recovery import expire_overdue
from resetdelivery.services import explain, request_reset
from tests.conftest import age
from tests.integration.test_notices import changed, states
from tests.steps import BUSY

pytestmark = pytest.mark.django_db

S = DeliveryState


def change_address(account: Any) -> None:
    account.email = "thief@elsewhere.example"


def change_password(account: Any) -> None:
    account.set_password("a fourth horse")


def deactivate(account: Any) -> None:
    account.is_active = False


def lock_out(account: Any) -> None:
    account.set_unusable_password()


@pytest.mark.parametrize("do", [change_address, change_password, deactivate, lock_out])
def test_what_happens_to_the_account_afterwards_stops_no_notice(
    account: Any, do: Any, email: ScriptedTransport
) -> None:
    changed(account)
    do(account)
    account.save()
    deliver(Channel.EMAIL, fill_at_once=True)
    assert len(email.messages) == 1


def test_a_notice_does_not_count_as_a_message_that_led_to_no_reset(
    account: Any, sms: ScriptedTransport, limits: redis.Redis[bytes]
) -> None:
    changed(account)
    deliver(Channel.SMS, fill_at_once=True)
    assert len(sms.messages) == 1
    assert limits.keys("*:conversion:*") == []
    request_reset(account_ref=str(account.pk), channels=["sms"])
    deliver(Channel.SMS, fill_at_once=True)
    assert len(limits.keys("*:conversion:*")) == 1


def test_a_notice_of_an_account_that_is_gone_is_cancelled(account: Any, email: ScriptedTransport) -> None:
    notice = changed(account)
    account.delete()
    deliver(Channel.EMAIL, fill_at_once=True)
    assert (states(notice)[0], email.messages) == (S.CANCELLED, [])


def test_a_notice_is_tried_again_with_the_same_message_id(account: Any, use_transport: Any) -> None:
    transport = use_transport(Channel.EMAIL, ScriptedTransport(outcomes=[BUSY]))
    notice = changed(account)
    deliver(Channel.EMAIL, fill_at_once=True)
    deliver(Channel.EMAIL, fill_at_once=True)
    first, second = (message for message in transport.messages if isinstance(message, EmailMessage))
    assert (first.message_id, first.date) == (second.message_id, second.date)
    assert states(notice)[0] == S.ACCEPTED


def test_a_notice_that_nobody_sent_in_time_expires(account: Any) -> None:
    notice = changed(account)
    age(2 * 3600)
    expire_overdue(using="default")
    assert states(notice) == [S.EXPIRED, S.EXPIRED]
    assert ResetIntent.objects.get().state == "closed"


@pytest.mark.parametrize("mode", ["legacy", "shadow", "live"])
def test_a_notice_is_sent_by_us_whoever_sends_the_resets_of_its_channel(
    account: Any, email: ScriptedTransport, sms: ScriptedTransport, mode: str
) -> None:
    for channel in Channel:
        ChannelControl.objects.create(channel=channel, mode=mode)
    notice = changed(account)
    for channel in Channel:
        deliver(channel, fill_at_once=True)
    assert (len(email.messages), len(sms.messages)) == (1, 1)
    assert states(notice) == [S.ACCEPTED, S.ACCEPTED]


def test_a_notice_waits_in_a_paused_channel(account: Any, email: ScriptedTransport) -> None:
    ChannelControl.objects.create(channel=Channel.EMAIL, mode="legacy", paused=True)
    notice = changed(account)
    deliver(Channel.EMAIL, fill_at_once=True)
    assert (states(notice)[0], email.messages) == (S.PENDING, [])


def test_a_worker_that_knows_no_notices_would_take_the_account_for_a_changed_one(account: Any) -> None:
    changed(account)
    intent = ResetIntent.objects.get()
    state = get_directory().get_many([str(account.pk)])[str(account.pk)].state
    assert not is_pseudonym_of(intent.account_digest, *account_digest_parts(str(account.pk), state))


def test_the_story_of_a_notice_says_what_it_is(account: Any) -> None:
    notice = changed(account)
    assert explain(notice.reference).events[0].text == "password changed: its notice requested"
