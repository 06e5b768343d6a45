"""Arming against a change of mind, a receipt and a second look at the same moment."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection

from notifications.channels import Channel
from resetdelivery import fallback
from resetdelivery.clock import database_now
from resetdelivery.domain.states import OPEN_STATES, DeliveryState
from resetdelivery.models import Delivery, ResetIntent
from resetdelivery.recovery import expire_overdue, sweep
from resetdelivery.services import cancel_resets
from tests.interleavings.racing import behind, together
from tests.later_words import armed_by, ask_in_turn, attempt_of, hear, where
from tests.steps import ACCEPTED, REFUSED, answer, record, seconds, take

S = DeliveryState
EMAIL, SMS = Channel.EMAIL, Channel.SMS
INTENT = f"SELECT 1 FROM {ResetIntent._meta.db_table} WHERE id = %s FOR UPDATE"

Step = Callable[[], Any]


@pytest.fixture(autouse=True)
def _with_receipts(settings: Any) -> None:
    email = {"TRANSPORT": "tests.transports.email", "GIVES_RECEIPTS": True}
    settings.RESETDELIVERY = {
        **settings.RESETDELIVERY,
        "CHANNELS": {"email": email, "sms": {"TRANSPORT": "tests.transports.sms"}},
    }


def accepted(account: Any) -> ResetIntent:
    """A reset whose email was accepted and whose arm time has come."""
    intent = ask_in_turn(account)
    answer(record(take(EMAIL)), ACCEPTED)
    Delivery.objects.filter(channel=SMS).update(arm_at=database_now(connection) - seconds(1))
    return intent


def assert_closed(intent: ResetIntent) -> None:
    intent.refresh_from_db()
    assert intent.state == "closed"
    assert not intent.deliveries.filter(state__in=OPEN_STATES).exists()


@pytest.mark.parametrize("turned", [False, True])
def test_a_cancel_wins_over_arming_whoever_comes_first(account: Any, turned: bool) -> None:
    intent = accepted(account)
    steps: list[Step] = [fallback.arm_due, partial(cancel_resets, account_ref=str(account.pk))]
    behind(INTENT, [intent.pk], *(reversed(steps) if turned else steps))
    assert where(SMS) == (S.CANCELLED, "withdrawn")
    assert_closed(intent)


@pytest.mark.parametrize("turned", [False, True])
def test_a_receipt_wins_over_arming_whoever_comes_first(account: Any, turned: bool) -> None:
    intent = accepted(account)
    steps: list[Step] = [fallback.arm_due, partial(hear, attempt_of(), "delivered")]
    behind(INTENT, [intent.pk], *(reversed(steps) if turned else steps))
    assert (where(EMAIL)[0], where(SMS)) == (S.DELIVERED, (S.CANCELLED, "not_needed"))
    assert_closed(intent)


def test_two_looks_at_once_arm_once(account: Any) -> None:
    intent = accepted(account)
    moved = behind(INTENT, [intent.pk], fallback.arm_due, fallback.arm_due)
    assert sorted(moved) == [0, 1]
    assert armed_by() == (S.PENDING, "unconfirmed")


@pytest.mark.parametrize("times", range(4))
def test_an_armed_message_is_marked_or_cancelled_and_not_both(account: Any, times: int) -> None:
    intent = accepted(account)
    fallback.arm_due()
    held = take(SMS)
    steps: list[Step] = [partial(hear, attempt_of(), "delivered"), partial(record, held)]
    _, sent = behind(INTENT, [intent.pk], *steps)
    assert (where(SMS)[0], len(sent)) in {(S.CANCELLED, 0), (S.SUBMITTING, 1)}
    answer(sent, ACCEPTED)
    assert_closed(intent)


@pytest.mark.parametrize("turned", [False, True])
def test_a_refusal_and_an_expiry_at_once_leave_no_waiting_channel(account: Any, turned: bool) -> None:
    intent = ask_in_turn(account)
    marked = record(take(EMAIL))
    Delivery.objects.filter(channel=SMS).update(expires_at=database_now(connection))
    steps: list[Step] = [partial(answer, marked, REFUSED), expire_overdue]
    behind(INTENT, [intent.pk], *(reversed(steps) if turned else steps))
    assert where(SMS) == (S.CANCELLED, "not_needed")
    assert_closed(intent)


def test_a_claim_and_a_needless_channel_never_leave_a_row_held_for_good(account: Any) -> None:
    intent = accepted(account)
    fallback.arm_due()
    steps: list[Step] = [partial(take, SMS), partial(hear, attempt_of(), "delivered")]
    claimed, _ = together(*steps)
    assert record(claimed) == []
    sweep()
    assert where(SMS) == (S.CANCELLED, "not_needed")
    assert_closed(intent)
