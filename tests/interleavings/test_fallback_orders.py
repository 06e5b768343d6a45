"""Seeded runs of workers, receipts, pauses and cancels against each other, one channel after the other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db.models import Exists, OuterRef
from django.utils import timezone

from notifications.channels import Channel
from notifications.receipts.receipt import ReceiptVerdict
from notifications.testing import ScriptedTransport
from resetdelivery import fallback
from resetdelivery.delivery import deliver
from resetdelivery.domain.states import OPEN_STATES, DeliveryState
from resetdelivery.models import Attempt, ChannelControl, Delivery, ResetIntent
from resetdelivery.services import request_reset
from tests.interleavings.racing import together
from tests.interleavings.test_random_orders import (
    WORKERS,
    Draw,
    Step,
    cancel,
    recover,
    send,
    settle_everything,
    work,
)
from tests.later_words import hear
from tests.steps import seconds

S = DeliveryState


@pytest.fixture
def short_turns(settings: Any) -> None:
    """Both channels' providers give receipts, and have no time for it."""
    options = {"GIVES_RECEIPTS": True, "FALLBACK_AFTER": seconds(0.2)}
    channels = {c.value: {"TRANSPORT": f"tests.transports.{c.value}", **options} for c in Channel}
    settings.RESETDELIVERY = {**settings.RESETDELIVERY, "CHANNELS": channels}


def ask(refs: list[str], draw: Draw) -> None:
    channels = draw.choice([["email", "sms"], ["sms", "email"]])
    request_reset(account_ref=draw.choice(refs), channels=channels, strategy="fallback")


def hear_something(refs: list[str], draw: Draw) -> None:
    attempts = list(Attempt.objects.order_by("-pk")[:12])
    for attempt in draw.sample(attempts, min(len(attempts), 3)):
        hear(attempt, draw.choice(list(ReceiptVerdict)))


def pause_or_not(refs: list[str], draw: Draw) -> None:
    paused = draw.random() < 0.4
    reason = "operator" if paused else ""
    ChannelControl.objects.filter(channel=draw.choice(list(Channel))).update(
        paused=paused, pause_reason=reason, probing=False, probe_at=None
    )


def arm(refs: list[str], draw: Draw) -> None:
    fallback.arm_due()


STEPS: list[Step] = [
    *(ask, ask, cancel, send, send, send, recover, arm, arm),
    *(hear_something, hear_something, hear_something, pause_or_not),
]


@pytest.mark.usefixtures("short_turns")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_order_of_steps_deadlocks_or_leaves_a_channel_waiting(
    make_account: Callable[..., Any], seed: int
) -> None:
    refs = [str(make_account().pk) for _ in range(3)]
    errors = together(*[partial(work, STEPS, refs, seed * 100 + n) for n in range(WORKERS)])
    assert [e for found in errors for e in found] == []
    settle_everything()
    assert not Delivery.objects.filter(state__in=OPEN_STATES).exists()
    assert not ResetIntent.objects.filter(state="open").exists()
    assert not Attempt.objects.filter(outcome="").exists()
    assert_receipts_were_heeded()


def assert_receipts_were_heeded() -> None:
    arrived = Attempt.objects.filter(delivery=OuterRef("pk"), receipt="delivered")
    rows = Delivery.objects.annotate(arrived=Exists(arrived))
    assert not rows.filter(state=S.DELIVERED, arrived=False).exists()
    assert not rows.filter(state=S.ACCEPTED, arrived=True).exists()
    assert not Delivery.objects.filter(position=1, arm_reason="", attempts__gt=0).exists()


@pytest.mark.usefixtures("short_turns")
@pytest.mark.parametrize(
    ("state", "receipt"), [(S.ACCEPTED, "delivered"), (S.DELIVERED, "")], ids=["unheeded", "invented"]
)
def test_a_receipt_that_was_not_heeded_would_be_seen(
    account: Any, email: ScriptedTransport, state: str, receipt: str
) -> None:
    request_reset(account_ref=str(account.pk), channels=["email", "sms"], strategy="fallback")
    deliver(Channel.EMAIL, fill_at_once=True)
    Attempt.objects.update(receipt=receipt, receipt_at=timezone.now() if receipt else None)
    Delivery.objects.filter(channel="email").update(state=state)
    with pytest.raises(AssertionError):
        assert_receipts_were_heeded()
