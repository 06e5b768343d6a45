"""The protocol's steps with plain arguments, and rows stored without going through admission."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Collection, Sequence
from typing import Any

from django.db import connection

from notifications.channels import Channel
from notifications.message import EmailMessage
from notifications.outcome import Outcome, OutcomeKind, Reason
from resetdelivery.claims import Claimed, Marked, Ready, Result, Settled, claim, mark, settle
from resetdelivery.clock import database_now
from resetdelivery.conf import get_settings
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import ChannelControl, Delivery, ResetIntent

ACCEPTED = Outcome(kind=OutcomeKind.ACCEPTED)
BUSY = Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.PROVIDER_BUSY, retry_after_seconds=0)
CUT = Outcome(kind=OutcomeKind.AMBIGUOUS, reason=Reason.DISCONNECTED_AFTER_SUBMIT, retry_after_seconds=0)
LOCKED_OUT = Outcome(kind=OutcomeKind.MISCONFIGURED, reason=Reason.AUTHENTICATION_FAILED)
REFUSED = Outcome(kind=OutcomeKind.PERMANENT, reason=Reason.RECIPIENT_REFUSED)


def seconds(count: float) -> dt.timedelta:
    return dt.timedelta(seconds=count)


def store(
    number: int = 1, channel: Channel = Channel.EMAIL, *, life: float = 600, overdue: float = 0, **fields: Any
) -> list[Delivery]:
    """Deliveries of intents of their own: ``life`` seconds left, due since ``overdue`` seconds."""
    now = database_now(connection)
    intents = ResetIntent.objects.bulk_create(
        ResetIntent(
            account_ref=str(uuid.uuid4()),
            account_digest="t1:0",
            template_version="1",
            locale="en",
            created_at=now - seconds(overdue + 1),
            expires_at=now + seconds(life),
        )
        for _ in range(number)
    )
    return Delivery.objects.bulk_create(
        Delivery(
            intent=intent,
            channel=channel,
            **{"due_at": now - seconds(overdue), "expires_at": now + seconds(life), **fields},
        )
        for intent in intents
    )


def take(
    channel: Channel = Channel.EMAIL,
    ids: Collection[int] = (),
    *,
    limit: int = 50,
    lease: float = 30,
    floor: float = 0,
    fill_after: float = 0,
    probe_after: float = 30,
    owner: str = "worker:1",
) -> list[Claimed]:
    return claim(
        channel,
        ids=ids,
        limit=limit,
        lease_seconds=lease,
        useful_floor_seconds=floor,
        fill_after_seconds=fill_after,
        probe_after_seconds=probe_after,
        owner=owner,
        using="default",
    )


def with_message(claimed: Claimed) -> Ready:
    message = EmailMessage(
        to="anna@shop.example",
        subject="Reset",
        text="text",
        html="<p>text</p>",
        message_id=f"<{claimed.reference}@shop.example>",
        date=claimed.requested_at,
        boundary="=_",
        expires_at=claimed.expires_at,
    )
    return Ready(claimed=claimed, message=message, attempt_reference=uuid.uuid4())


def record(claimed: Sequence[Claimed], *, budget: float = 15, margin: float = 5) -> list[Marked]:
    return mark(
        [with_message(one) for one in claimed],
        send_budget_seconds=budget,
        lease_margin_seconds=margin,
        transport="scripted",
        worker="worker:1",
        using="default",
    )


def answer(
    marked: Sequence[Marked], outcome: Outcome = ACCEPTED, *, max_claims: int = 10, draw: float = 0.0
) -> list[Settled]:
    """Settle all of ``marked`` with one outcome, a quarter of a second after they started."""
    channel = marked[0].claimed.channel if marked else Channel.EMAIL
    return settle(
        [
            Result(
                marked=one,
                outcome=outcome,
                finished_at=one.started_at + seconds(0.25),
                duration_seconds=0.25,
            )
            for one in marked
        ],
        policy=get_settings().policy(channel),
        draw=lambda: draw,
        max_claims=max_claims,
        probe_after_seconds=30,
        using="default",
    )


def states(rows: Sequence[Delivery]) -> list[DeliveryState]:
    """The stored states of ``rows`` in order."""
    found = dict(Delivery.objects.filter(pk__in=[row.pk for row in rows]).values_list("pk", "state"))
    return [DeliveryState(found[row.pk]) for row in rows]


def pause(channel: Channel = Channel.EMAIL, **fields: Any) -> None:
    """Pause a channel as an operator does, or as ``fields`` say."""
    values = {"paused": True, "pause_reason": "operator", "probe_at": None, "probing": False, **fields}
    ChannelControl.objects.update_or_create(channel=channel, defaults=values)
