"""A worker outside this project, one step per call."""

from __future__ import annotations

from typing import Any

from notifications.outcome import Outcome
from resetdelivery import external
from resetdelivery.cancellation import request_cancel
from resetdelivery.claims import Hold
from resetdelivery.domain.external import sender_of
from resetdelivery.domain.reasons import CancelReason
from resetdelivery.domain.states import DeliveryState
from resetdelivery.services import request_reset
from tests.steps import ACCEPTED

MAILER = sender_of("mailer")
OTHER = sender_of("other")
LEASE = 30.0


def reset_for(account: Any, channel: str = "email") -> None:
    """One reset for ``account`` on one channel."""
    request_reset(account_ref=str(account.pk), channels=[channel])


def withdraw(account: Any) -> None:
    """Ask for no more of the account's resets."""
    request_cancel(account_ref=str(account.pk), reason=CancelReason.WITHDRAWN, using="default")


def claim(
    channel: str | None = "email",
    *,
    sender: str = MAILER,
    worker_id: str = "w1",
    limit: int = 10,
    lease: float = LEASE,
    draw: float = 0.0,
) -> list[external.Work]:
    return external.claim(
        sender=sender,
        worker_id=worker_id,
        limit=limit,
        lease_seconds=lease,
        channel=channel,
        draw=lambda: draw,
    )


def hold_of(work: external.Work, *, sender: str = MAILER) -> Hold:
    return Hold(sender=sender, reference=work.reference, token=work.lease_token)


def held(channel: str = "email", *, sender: str = MAILER) -> Hold:
    """The one delivery that is due on ``channel``, claimed."""
    (work,) = claim(channel, sender=sender)
    return hold_of(work, sender=sender)


def marked(channel: str = "email", *, sender: str = MAILER) -> Hold:
    """The one delivery that is due on ``channel``, claimed, its message handed out."""
    hold = held(channel, sender=sender)
    external.hand_out(hold)
    return hold


def report(hold: Hold, outcome: Outcome = ACCEPTED) -> DeliveryState:
    return external.report(hold, outcome)
