from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from notifications.channels import Channel
from notifications.message import EmailMessage, SmsMessage
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.testing import ScriptedTransport
from resetdelivery.delivery import deliver
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import Attempt, ResetIntent
from resetdelivery.recovery import expire_overdue, sweep
from resetdelivery.services import request_reset
from tests.conftest import UseTransport, age, the_delivery

pytestmark = pytest.mark.django_db


def test_a_reset_is_accepted_on_both_channels_and_its_intent_closes(
    account: Any, email: ScriptedTransport, sms: ScriptedTransport
) -> None:
    request_reset(account_ref=str(account.pk), channels=["email", "sms"])
    deliver(Channel.EMAIL)
    deliver(Channel.SMS)
    (mail,), (text,) = email.messages, sms.messages
    assert isinstance(mail, EmailMessage)
    assert isinstance(text, SmsMessage)
    assert (mail.to, text.to) == (account.email, account.phone)
    assert the_delivery().state == DeliveryState.ACCEPTED
    assert ResetIntent.objects.get().state == "closed"


def test_a_retry_carries_the_same_bytes(account: Any, use_transport: UseTransport) -> None:
    busy = Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.PROVIDER_BUSY, retry_after_seconds=0)
    email = use_transport(Channel.EMAIL, ScriptedTransport(outcomes=[busy]))
    request_reset(account_ref=str(account.pk), channels=["email"])
    deliver(Channel.EMAIL)
    assert the_delivery().state == DeliveryState.PENDING
    deliver(Channel.EMAIL)
    first, second = email.messages
    assert the_delivery().state == DeliveryState.ACCEPTED
    assert [a.outcome for a in Attempt.objects.order_by("number")] == ["transient", "accepted"]
    assert isinstance(first, EmailMessage)
    assert isinstance(second, EmailMessage)
    assert (first.message_id, first.date, first.boundary) == (second.message_id, second.date, second.boundary)


def test_a_lease_that_ran_out_before_the_attempt_is_put_back_and_sent_once(
    account: Any, email: ScriptedTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    request_reset(account_ref=str(account.pk), channels=["email"])
    with monkeypatch.context() as patch:
        patch.setattr("resetdelivery.delivery.judge_batch", _die)
        with pytest.raises(SystemExit):
            deliver(Channel.EMAIL)
    assert the_delivery().state == DeliveryState.LEASED
    age(60)
    assert sweep().put_back == 1
    deliver(Channel.EMAIL)
    assert the_delivery().state == DeliveryState.ACCEPTED
    assert len(email.messages) == 1


def _die(*_: object, **__: object) -> None:
    raise SystemExit


def test_overdue_work_expires_with_its_reason(account: Any, email: ScriptedTransport) -> None:
    request_reset(account_ref=str(account.pk), channels=["email"], lifetime=dt.timedelta(seconds=60))
    age(58)
    assert expire_overdue() == 1
    delivery = the_delivery()
    assert (delivery.state, delivery.reason) == (DeliveryState.EXPIRED, "no_useful_time_left")
    assert deliver(Channel.EMAIL) == 0
