"""Deliveries for workers outside this project: they go the way of our own, one step per call.

A worker claims, asks for one message, submits it with a provider of its own and reports what came
of it. It holds a delivery as our workers do: for a time, under a fencing token, and the sweep takes
back what it left. Whatever it is not sure to hold is :class:`StaleLease`, whoever holds it instead.
"""

from __future__ import annotations

import datetime as dt
import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from django.db import connections, router, transaction
from django.views.decorators.debug import sensitive_variables

from notifications.channels import Channel
from notifications.message import Message
from notifications.outcome import Outcome, OutcomeKind
from resetdelivery import claims as protocol
from resetdelivery.claim_bounds import check_lease, check_limit, send_budget_seconds, wanted_channels
from resetdelivery.claims import Claimed, Held, Hold, Marked, OnRecord, Ready, Result, Settled
from resetdelivery.clock import database_now
from resetdelivery.conf import Settings, get_settings
from resetdelivery.delivery import pass_gate, pass_limits
from resetdelivery.domain.external import in_turn, owner_of
from resetdelivery.domain.failover import bound_to
from resetdelivery.domain.states import DeliveryState, IntentKind
from resetdelivery.exceptions import ResetDeliveryError
from resetdelivery.logs import get_logger
from resetdelivery.models import Delivery
from resetdelivery.telemetry import attempt_log
from resetdelivery.throttles import conversion

log = get_logger("resetdelivery.external")
_draw = random.SystemRandom().random


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
    draw: Callable[[], float] = _draw,
) -> list[Work]:
    """Lease up to ``limit`` due deliveries, of ``channel`` or of all, one channel after the other.

    ``sender`` is :func:`~resetdelivery.domain.external.sender_of` the client; ``draw`` picks the
    channel to begin with. No hint reaches a worker outside, so any due row is taken at once.
    :class:`~resetdelivery.claim_bounds.InvalidClaim` for a bound that is not kept, and a channel
    that is not configured.
    """
    settings, alias = get_settings(), _alias(using)
    channels = wanted_channels(settings, channel)
    check_limit(settings, limit)
    check_lease(settings, channels, lease_seconds)
    found: list[Claimed] = []
    for one in in_turn(channels, draw()):
        try:
            found += _claim_on(one, settings, limit - len(found), lease_seconds, (sender, worker_id), alias)
        except Exception as error:
            if not found:
                raise
            # What is leased already is told all the same, or it would lie there until the sweep.
            log.error("claim_failed", channel=one.value, error_class=type(error).__name__)
            break
    return [_work(one) for one in found]


def _claim_on(
    channel: Channel, settings: Settings, limit: int, lease_seconds: float, who: tuple[str, str], alias: str
) -> list[Claimed]:
    if limit == 0:
        return []
    sender, worker_id = who
    return protocol.claim(
        channel,
        limit=limit,
        lease_seconds=lease_seconds,
        useful_floor_seconds=settings.policy(channel).useful_floor_seconds,
        fill_after_seconds=0.0,
        # A probe is to show whether our own provider works.
        probe_after_seconds=None,
        owner=owner_of(sender, worker_id),
        using=alias,
        sender=sender,
    )


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
        send_budget_seconds=send_budget_seconds(settings, claimed.channel),
        lease_margin_seconds=settings.lease_margin.total_seconds(),
        transport=hold.sender,
        worker=held.owner,
        using=alias,
    )
    if not marked:
        # Where judging itself failed there is nothing ready: the sweep puts that back, and counts it.
        protocol.release([one.claimed for one in ready], using=alias)
        raise _not_marked(hold, claimed, alias)
    return _handed_out(ready[0], marked[0], settings)


def _not_marked(hold: Hold, claimed: Claimed, alias: str) -> AlreadyMarked | NotSendable:
    """Why there was nothing to mark: another request with this token may have been sooner."""
    now_held = protocol.held(hold, using=alias)
    if now_held is not None and now_held.state is DeliveryState.SUBMITTING:
        return AlreadyMarked()
    return NotSendable(_state(claimed, alias))


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
        send_within_seconds=min(send_budget_seconds(settings, claimed.channel), lifetime),
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

    Raises :class:`StaleLease`, :class:`AlreadyMarked` and
    :class:`~resetdelivery.claim_bounds.InvalidClaim`.
    """
    alias, settings = _alias(using), get_settings()
    claimed = _unsent(hold, settings, alias).claimed
    check_lease(settings, [claimed.channel], lease_seconds)
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
