"""Deliveries for workers outside this project: they go the way of our own, one step per call.

A worker claims, asks for one message, submits it with a provider of its own and reports what came
of it. It holds a delivery as our workers do: for a time, under a fencing token, and the sweep takes
back what it left. Whatever it is not sure to hold is :class:`StaleLease`, whoever holds it instead.
"""

from __future__ import annotations

import datetime as dt
import random
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db import connections, router, transaction
from django.views.decorators.debug import sensitive_variables

from notifications.channels import Channel
from notifications.message import Message
from notifications.outcome import Outcome, OutcomeKind
from resetdelivery import attempt_log
from resetdelivery import claims as protocol
from resetdelivery.claims import Claimed, Held, Hold, Marked, OnRecord, Ready, Result, Settled
from resetdelivery.clock import database_now
from resetdelivery.conf import Settings, get_settings
from resetdelivery.delivery import pass_gate, pass_limits
from resetdelivery.domain.external import owner_of
from resetdelivery.domain.failover import bound_to
from resetdelivery.domain.lease import longest_lease_seconds, shortest_lease_seconds
from resetdelivery.domain.states import DeliveryState, IntentKind
from resetdelivery.exceptions import ResetDeliveryError
from resetdelivery.models import Delivery
from resetdelivery.throttles import conversion

_draw = random.SystemRandom().random


class InvalidClaim(ResetDeliveryError, ValueError):
    """What a worker asks for is out of bounds; ``part`` says which argument."""

    def __init__(self, part: str, text: str) -> None:
        super().__init__(text)
        self.part = part


class StaleLease(ResetDeliveryError):
    """The caller does not hold this delivery under this token, if it ever did."""


class AlreadyMarked(ResetDeliveryError):
    """The message was handed out under this token: what is left to do is to report its outcome."""


class NotSendable(ResetDeliveryError):
    """The delivery must not be sent; ``state`` is the one it is in now, and no longer the caller's."""

    def __init__(self, state: DeliveryState) -> None:
        super().__init__(f"The delivery is {state.value} now.")
        self.state = state


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A delivery that a worker holds; nothing in it is personal."""

    reference: uuid.UUID
    channel: Channel
    lease_token: int
    lease_expires_at: dt.datetime
    expires_at: dt.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedOut:
    """A message to submit, once.

    Nothing may be sent later than ``send_within_seconds`` after the moment before it was asked for:
    a span, because two machines' clocks need not agree.
    """

    message: Message = field(repr=False)
    attempt_reference: uuid.UUID
    send_within_seconds: float


def claim(
    *,
    sender: str,
    worker_id: str,
    limit: int,
    lease_seconds: float,
    channel: str | None = None,
    using: str | None = None,
) -> list[Work]:
    """Lease up to ``limit`` due deliveries, of ``channel`` or of each configured one in turn.

    ``sender`` is :func:`~resetdelivery.domain.external.sender_of` the client. No hint reaches a
    worker outside, so any due row is taken at once. :class:`InvalidClaim` for a bound that is not
    kept, and a channel that is not configured.
    """
    settings = get_settings()
    channels = _channels(settings, channel)
    _check_bounds(settings, channels, limit, lease_seconds)
    found: list[Claimed] = []
    for one in channels:
        if len(found) < limit:
            found += protocol.claim(
                one,
                limit=limit - len(found),
                lease_seconds=lease_seconds,
                useful_floor_seconds=settings.policy(one).useful_floor_seconds,
                fill_after_seconds=0.0,
                # A probe is to show whether our own provider works.
                probe_after_seconds=None,
                owner=owner_of(sender, worker_id),
                using=_alias(using),
                sender=sender,
            )
    return [_work(one) for one in found]


@sensitive_variables()
def hand_out(hold: Hold, *, using: str | None = None) -> HandedOut:
    """Judge, render and mark what ``hold`` names; its message, which nobody gets a second time.

    Raises :class:`StaleLease`, :class:`AlreadyMarked`, or :class:`NotSendable` for what the gate
    or a limit refuses and for a text message that only another provider may send again.
    """
    alias, settings = _alias(using), get_settings()
    held = _unsent(hold, settings, alias)
    claimed = held.claimed
    if bound_to(claimed.channel, claimed.may_have_it) not in {"", hold.sender}:
        protocol.release([claimed], using=alias)
        raise NotSendable(_state(claimed, alias))
    ready = pass_limits(pass_gate([claimed], using=alias), using=alias)
    marked = protocol.mark(
        ready,
        send_budget_seconds=_send_budget(settings, claimed.channel),
        lease_margin_seconds=settings.lease_margin.total_seconds(),
        transport=hold.sender,
        worker=held.owner,
        using=alias,
    )
    if not marked:
        # Where judging itself failed there is nothing ready: the sweep puts that back, and counts it.
        protocol.release([one.claimed for one in ready], using=alias)
        raise NotSendable(_state(claimed, alias))
    return _handed_out(ready[0], marked[0], settings)


@sensitive_variables()
def _handed_out(ready: Ready, marked: Marked, settings: Settings) -> HandedOut:
    claimed = marked.claimed
    if claimed.channel is Channel.SMS and claimed.kind is IntentKind.RESET:
        # By the time it is accepted nobody here knows its number any more.
        conversion.note_sent([ready.message.to])
    lifetime = (claimed.expires_at - marked.started_at).total_seconds()
    return HandedOut(
        message=ready.message,
        attempt_reference=marked.attempt_reference,
        send_within_seconds=min(_send_budget(settings, claimed.channel), lifetime),
    )


def report(hold: Hold, outcome: Outcome, *, using: str | None = None) -> DeliveryState:
    """Settle the attempt that was marked under ``hold``; the state that follows.

    The same outcome again changes nothing and gets the state of now: its sender lost our answer.
    :class:`StaleLease` if nothing was marked, or if the sweep was sooner; an attempt that it took
    for ambiguous keeps the first thing that is told of it late.
    """
    alias = _alias(using)
    with transaction.atomic(using=alias):
        found = protocol.on_record(hold, using=alias)
        if found is not None and found.says(outcome):
            return found.state
        settled = _settle(found, outcome, alias) if found is not None and _is_open(found) else None
    if settled is None:
        raise StaleLease
    attempt_log.write(settled)
    if settled.fenced_out:
        raise StaleLease
    return settled.decision.state


def renew(hold: Hold, *, lease_seconds: float, using: str | None = None) -> dt.datetime:
    """A longer lease on what was not handed out yet; when it ends.

    Raises :class:`StaleLease`, :class:`AlreadyMarked` and :class:`InvalidClaim`.
    """
    alias, settings = _alias(using), get_settings()
    claimed = _unsent(hold, settings, alias).claimed
    _check_lease(settings, [claimed.channel], lease_seconds)
    ends = protocol.renew(claimed, lease_seconds=lease_seconds, using=alias)
    if ends is None:
        raise StaleLease
    return ends


def give_back(hold: Hold, *, using: str | None = None) -> DeliveryState:
    """Release what was not handed out, as if it had never been claimed; the state that follows.

    Raises :class:`StaleLease` and :class:`AlreadyMarked`.
    """
    alias = _alias(using)
    claimed = _unsent(hold, get_settings(), alias).claimed
    if not protocol.release([claimed], using=alias):
        raise StaleLease
    return _state(claimed, alias)


def _alias(using: str | None) -> str:
    return using or router.db_for_write(Delivery)


def _channels(settings: Settings, name: str | None) -> Sequence[Channel]:
    if name is None:
        return list(settings.channels)
    for channel in settings.channels:
        if channel.value == name:
            return [channel]
    listed = ", ".join(channel.value for channel in settings.channels)
    raise InvalidClaim("channel", f"This channel ({len(name)} characters) is not configured; use {listed}.")


def _check_bounds(settings: Settings, channels: Sequence[Channel], limit: int, lease_seconds: float) -> None:
    if not 1 <= limit <= settings.claim_limit:
        raise InvalidClaim("limit", f"A limit of {limit} is out of bounds; use 1 to {settings.claim_limit}.")
    _check_lease(settings, channels, lease_seconds)


def _check_lease(settings: Settings, channels: Sequence[Channel], lease_seconds: float) -> None:
    margin = settings.lease_margin.total_seconds()
    least = max(shortest_lease_seconds(_send_budget(settings, one), margin) for one in channels)
    most = longest_lease_seconds(settings.lease.total_seconds(), least)
    if not least <= lease_seconds <= most:
        raise InvalidClaim(
            "lease_seconds",
            f"A lease of {lease_seconds:g} s is out of bounds. It takes at least {least:g} s, one send and "
            f"its bookkeeping, and at most {most:g} s.",
        )


def _send_budget(settings: Settings, channel: Channel) -> float:
    return settings.channel(channel).send_budget.total_seconds()


def _work(claimed: Claimed) -> Work:
    return Work(
        reference=claimed.reference,
        channel=claimed.channel,
        lease_token=claimed.token,
        lease_expires_at=claimed.lease_expires_at,
        expires_at=claimed.expires_at,
    )


def _unsent(hold: Hold, settings: Settings, alias: str) -> Held:
    """What ``hold`` names, LEASED and live, in a channel that is still configured."""
    held = protocol.held(hold, using=alias)
    if held is not None and held.state is DeliveryState.SUBMITTING:
        raise AlreadyMarked
    if held is None or not held.live or held.claimed.channel not in settings.channels:
        raise StaleLease
    return held


def _state(claimed: Claimed, alias: str) -> DeliveryState:
    return DeliveryState(Delivery.objects.using(alias).values_list("state", flat=True).get(pk=claimed.id))


def _is_open(found: OnRecord) -> bool:
    """Whether the attempt has room for an outcome, its own or a late one."""
    return found.outcome in {"", OutcomeKind.AMBIGUOUS} and not found.late_outcome


def _settle(found: OnRecord, outcome: Outcome, alias: str) -> Settled:
    settings = get_settings()
    finished_at = database_now(connections[alias])
    (settled,) = protocol.settle(
        [
            Result(
                marked=found.marked,
                outcome=outcome,
                finished_at=finished_at,
                duration_seconds=(finished_at - found.marked.started_at).total_seconds(),
            )
        ],
        policy=settings.policy(found.marked.claimed.channel),
        draw=_draw,
        max_claims=settings.max_claims,
        probe_after_seconds=settings.probe_after.total_seconds(),
        using=alias,
        external=True,
    )
    return settled
