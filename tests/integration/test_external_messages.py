from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from notifications.channels import Channel
from notifications.message import EmailMessage, SmsMessage
from notifications.testing import ScriptedTransport
from resetdelivery import delivery, gate
from resetdelivery.clock import database_now
from resetdelivery.delivery import deliver
from resetdelivery.domain.states import DeliveryState
from resetdelivery.external import AlreadyMarked, NotSendable, hand_out
from resetdelivery.models import Attempt, Delivery
from resetdelivery.recovery import sweep
from tests.conftest import age, the_delivery
from tests.integration.external_steps import (
    LEASE,
    held,
    marked,
    report,
    reset_for,
    withdraw,
)
from tests.steps import BUSY, pause, seconds

pytestmark = pytest.mark.django_db

S = DeliveryState


def test_an_email_is_handed_out_with_its_attempt_on_record(account: Any) -> None:
    reset_for(account)
    handed = hand_out(held())
    attempt, row = Attempt.objects.get(), the_delivery()
    assert isinstance(handed.message, EmailMessage)
    assert handed.message.to == account.email
    assert handed.message.message_id == f"<{row.reference}@shop.example>"
    assert handed.attempt_reference == attempt.reference
    assert (attempt.transport, attempt.worker, attempt.outcome) == ("api:mailer", "api:mailer:w1", "")
    assert (row.state, row.attempts) == (S.SUBMITTING, 1)


def test_a_text_message_is_handed_out_with_the_deliverys_key(account: Any) -> None:
    reset_for(account, "sms")
    handed = hand_out(held("sms"))
    assert isinstance(handed.message, SmsMessage)
    assert handed.message.to == account.phone
    assert handed.message.key == str(the_delivery(Channel.SMS).reference)


def test_a_message_is_the_same_to_the_byte_whoever_sends_it(account: Any, email: ScriptedTransport) -> None:
    reset_for(account)
    hold = held()
    handed = hand_out(hold)
    report(hold, BUSY)
    deliver(Channel.EMAIL)
    assert email.messages == [handed.message]


def test_a_message_may_be_sent_within_the_send_budget_and_the_lease_covers_that(account: Any) -> None:
    reset_for(account)
    handed = hand_out(held())
    lease_ends = the_delivery().lease_expires_at
    assert handed.send_within_seconds == 15
    assert lease_ends is not None
    assert abs(lease_ends - Attempt.objects.get().started_at - seconds(20)) < seconds(1)


def test_a_message_may_not_be_sent_after_its_reset_expired(account: Any) -> None:
    reset_for(account)
    Delivery.objects.update(expires_at=the_delivery().expires_at - seconds(591))
    within = hand_out(held()).send_within_seconds
    attempt, row = Attempt.objects.get(), the_delivery()
    assert within == (row.expires_at - attempt.started_at).total_seconds()
    assert within <= 9


def test_a_message_is_handed_out_once(account: Any) -> None:
    reset_for(account)
    hold = marked()
    with pytest.raises(AlreadyMarked):
        hand_out(hold)
    assert Attempt.objects.count() == 1


def change_the_address(account: Any) -> None:
    account.email = "elsewhere@example.com"
    account.save()


def leave_too_little_life(_: Any) -> None:
    Delivery.objects.update(expires_at=database_now(connection) + seconds(3))


def give_it_to_the_existing_sender(_: Any) -> None:
    Delivery.objects.update(authority="legacy")


def let_it_run_in_the_shadow(_: Any) -> None:
    Delivery.objects.update(authority="shadow")


@pytest.mark.parametrize(
    ("event", "state"),
    [
        (withdraw, S.CANCELLED),
        (change_the_address, S.CANCELLED),
        (leave_too_little_life, S.EXPIRED),
        (give_it_to_the_existing_sender, S.WITHHELD),
        (let_it_run_in_the_shadow, S.SHADOWED),
    ],
)
def test_what_the_gate_refuses_ends_and_is_not_handed_out(
    account: Any, event: Callable[[Any], None], state: S
) -> None:
    reset_for(account)
    hold = held()
    event(account)
    with pytest.raises(NotSendable) as caught:
        hand_out(hold)
    assert caught.value.state == the_delivery().state == state
    assert not Attempt.objects.exists()


def test_what_cannot_be_marked_is_given_back(account: Any) -> None:
    reset_for(account)
    hold = held()
    pause()
    with pytest.raises(NotSendable) as caught:
        hand_out(hold)
    row = the_delivery()
    assert caught.value.state == row.state == S.PENDING
    assert (row.claims, Attempt.objects.count()) == (0, 0)


def test_an_account_system_that_is_away_uses_up_no_claim(
    account: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    reset_for(account)
    hold = held()

    def away(*_: object, **__: object) -> None:
        raise OSError("away")

    monkeypatch.setattr(delivery, "judge_batch", away)
    with pytest.raises(OSError, match="away"):
        hand_out(hold)
    row = the_delivery()
    assert (row.state, row.claims) == (S.PENDING, 0)


def test_a_row_that_cannot_be_judged_waits_for_the_sweep_and_uses_up_its_claim(
    account: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    reset_for(account)
    hold = held()

    def fail(*_: object) -> None:
        raise LookupError("no such template")

    monkeypatch.setattr(gate, "build_message", fail)
    with pytest.raises(NotSendable) as caught:
        hand_out(hold)
    assert caught.value.state == S.LEASED
    age(LEASE + 1)
    sweep()
    row = the_delivery()
    assert (row.state, row.claims) == (S.PENDING, 1)
