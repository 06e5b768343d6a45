"""The steps of an intent and of its deliveries, from their rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from resetdelivery.domain.states import IntentKind
from resetdelivery.domain.telemetry import FirstHint
from resetdelivery.models import Attempt, Delivery, ResetIntent
from resetdelivery.timeline.words import spelled


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened; ``channel`` is empty for what concerns the whole intent."""

    at: dt.datetime
    channel: str
    text: str


_REQUESTED = {
    IntentKind.RESET.value: "requested",
    IntentKind.SECURITY_NOTICE.value: "password changed: its notice requested",
}


def intent_events(intent: ResetIntent) -> Iterator[Event]:
    """What concerns all channels, but its end."""
    yield Event(at=intent.created_at, channel="", text=_REQUESTED[intent.kind])
    if intent.cancel_requested_at:
        text = _STOPPED.get(intent.cancel_reason, f"asked to stop: {spelled(intent.cancel_reason)}")
        yield Event(at=intent.cancel_requested_at, channel="", text=text)


_STOPPED = {
    "account_limit": "not to be sent: the account's limit is used up",
    "destination_limit": "not to be sent: the limits of all its destinations are used up",
}


def after(causes: Iterable[Event], event: Event) -> Event:
    """``event``, not before what led to it: SQLite's clock has fewer digits than a worker's."""
    return replace(event, at=max([event.at, *(cause.at for cause in causes)]))


def delivery_events(delivery: Delivery, attempts: Sequence[Attempt]) -> Iterator[Event]:
    """What we did ourselves."""
    tries = [event for attempt in attempts for event in _attempt_events(delivery, attempt)]
    if delivery.first_hint:
        text = _HINTS[FirstHint(delivery.first_hint)]
        yield Event(at=delivery.intent.created_at, channel=delivery.channel, text=text)
    if delivery.arm_at and (delivery.arm_reason or delivery.state == "waiting"):
        yield Event(at=delivery.arm_at, channel=delivery.channel, text=_arming(delivery))
    yield from tries
    if delivery.finished_at:
        text = "accepted" if _ended_late(delivery, attempts) else _ending(delivery)
        yield after(tries, Event(at=delivery.finished_at, channel=delivery.channel, text=text))
    elif delivery.state == "pending":
        yield Event(at=delivery.due_at, channel=delivery.channel, text=_waiting(delivery))


_HINTS = {
    FirstHint.PUBLISHED: "hint published",
    FirstHint.SUPPRESSED: "hint left out, as enough hints stood in the queue",
    FirstHint.FAILED: "hint failed, as the broker did not take it",
}


def later_events(delivery: Delivery, attempts: Sequence[Attempt]) -> Iterator[Event]:
    """What the provider said afterwards, and what that led to."""
    for attempt in attempts:
        if attempt.receipt_at:
            text = _receipt(attempt)
            yield Event(at=attempt.receipt_at, channel=delivery.channel, text=text)
    late = _ended_late(delivery, attempts)
    if late:
        yield Event(at=late, channel=delivery.channel, text=_ending(delivery))


def _ended_late(delivery: Delivery, attempts: Sequence[Attempt]) -> dt.datetime | None:
    """When a receipt ended it, if that was after our own work on it ended."""
    told = [a.receipt_at for a in attempts if a.receipt_at and a.receipt == delivery.state]
    # Refused at once, and a receipt that says so again: that is no acceptance which failed later.
    if not told or not delivery.finished_at or delivery.outcome != "accepted":
        return None
    return min(told) if min(told) > delivery.finished_at else None


def _receipt(attempt: Attempt) -> str:
    why = f": {spelled(attempt.receipt_reason)}" if attempt.receipt == "failed" else ""
    said = _RECEIPTS.get(attempt.receipt, attempt.receipt)
    return f"receipt for attempt {attempt.number}: {said}{why}"


_RECEIPTS = {"progress": "on its way"}

_ARMED = {
    "failed": "armed, as the channel before it failed",
    "expired": "armed, as the channel before it expired",
    "paused": "armed, as the channel before it is paused",
    "unconfirmed": "armed, as the channel before it had not confirmed in time",
}


def _arming(delivery: Delivery) -> str:
    if delivery.arm_reason:
        return _ARMED.get(delivery.arm_reason, f"armed: {spelled(delivery.arm_reason)}")
    return "waits until then for the channel before it"


def _attempt_events(delivery: Delivery, attempt: Attempt) -> Iterator[Event]:
    yield Event(
        at=attempt.started_at,
        channel=delivery.channel,
        text=f"attempt {attempt.number} started, {attempt.queue_delay_seconds:.3f} s after it was due, "
        f"through {attempt.transport}{_claim(attempt)}",
    )
    if attempt.finished_at:
        text = f"attempt {attempt.number} {attempt.outcome}: {spelled(attempt.reason)}"
        late = f" (its worker came back later: {attempt.late_outcome})" if attempt.late_outcome else ""
        yield Event(at=attempt.finished_at, channel=delivery.channel, text=text + late)


def _claim(attempt: Attempt) -> str:
    if attempt.claimed_at is None:
        return ""
    return f", {(attempt.started_at - attempt.claimed_at).total_seconds():.3f} s after a worker took it"


def _ending(delivery: Delivery) -> str:
    reason = f": {spelled(delivery.reason)}" if delivery.reason not in {"", "ok"} else ""
    return f"{delivery.state}{reason}"


def _waiting(delivery: Delivery) -> str:
    reason = f" after {spelled(delivery.reason)}" if delivery.reason else ""
    limit = f", but not to be sent: {spelled(delivery.suppressed)}" if delivery.suppressed else ""
    return f"due{reason}{limit}"
