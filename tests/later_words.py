"""Receipts for stored attempts, and resets whose channels are used one after the other."""

from __future__ import annotations

from typing import Any

from notifications.channels import Channel
from notifications.outcome import Reason
from notifications.receipts.receipt import Receipt, ReceiptVerdict
from resetdelivery.models import Attempt, Delivery, ResetIntent
from resetdelivery.receipts import RecordedReceipt, record
from resetdelivery.services import request_reset

#: Why a message did not arrive, where a test does not care.
WHY_FAILED = Reason.MAILBOX_FULL


def hear(attempt: Attempt, verdict: str) -> RecordedReceipt:
    """A provider's later word about an attempt."""
    failed = verdict == ReceiptVerdict.FAILED
    return record(
        Receipt(
            attempt_reference=attempt.reference,
            verdict=ReceiptVerdict(verdict),
            reason=WHY_FAILED if failed else Reason.OK,
        )
    )


def attempt_of(channel: Channel = Channel.EMAIL, number: int = 1) -> Attempt:
    """One attempt of the only delivery on a channel, as it is stored now."""
    return Attempt.objects.get(delivery__channel=channel, number=number)


def ask_in_turn(account: Any, *channels: str, **options: Any) -> ResetIntent:
    """Admit a reset that uses the second channel only after the first."""
    names = list(channels) or ["email", "sms"]
    admission = request_reset(account_ref=str(account.pk), channels=names, strategy="fallback", **options)
    return ResetIntent.objects.get(reference=admission.reference)


def where(channel: Channel) -> tuple[str, str]:
    """State and reason of the only delivery on a channel, as stored now."""
    return Delivery.objects.values_list("state", "reason").get(channel=channel)


def armed_by(channel: Channel = Channel.SMS) -> tuple[str, str]:
    """State of the only delivery on a channel, and why it was armed."""
    return Delivery.objects.values_list("state", "arm_reason").get(channel=channel)
