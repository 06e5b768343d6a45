"""What happened to one intent, in order and in plain words. Nothing personal is in it."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from resetdelivery.domain.states import IntentKind
from resetdelivery.models import Attempt, Delivery, ResetIntent


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened; ``channel`` is empty for what concerns the whole intent."""

    at: dt.datetime
    channel: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """An intent's events, oldest first."""

    reference: uuid.UUID
    state: str
    expires_at: dt.datetime
    events: tuple[Event, ...]

    def lines(self) -> list[str]:
        """The events as text, with the seconds since the first."""
        start = self.events[0].at
        return [
            f"+{(event.at - start).total_seconds():8.3f} s  {event.channel:<6} {event.text}"
            for event in self.events
        ]


def timeline_of(intent: ResetIntent) -> Timeline:
    """The timeline of a stored intent."""
    events, own = _told(intent)
    if intent.closed_at:
        closed = Event(at=intent.closed_at, channel="", text="closed: nothing more can happen")
        events.append(_after(own, closed))
    # A stable sort: of two things at one moment, the cause was told first.
    events.sort(key=lambda event: event.at)
    return Timeline(
        reference=intent.reference,
        state=intent.state,
        expires_at=intent.expires_at,
        events=tuple(events),
    )


def _told(intent: ResetIntent) -> tuple[list[Event], list[Event]]:
    """Everything that happened, channel by channel, and of it what we did ourselves."""
    own = list(_intent_events(intent))
    events = list(own)
    for delivery in intent.deliveries.order_by("position").prefetch_related("attempt_rows"):
        attempts = list(delivery.attempt_rows.all())
        ours = list(_delivery_events(delivery, attempts))
        own += ours
        events += [*ours, *_later_events(delivery, attempts)]
    return events, own


_REQUESTED = {
    IntentKind.RESET.value: "requested",
    IntentKind.SECURITY_NOTICE.value: "password changed: its notice requested",
}


def _intent_events(intent: ResetIntent) -> Iterator[Event]:
    yield Event(at=intent.created_at, channel="", text=_REQUESTED[intent.kind])
    if intent.cancel_requested_at:
        text = _STOPPED.get(intent.cancel_reason, f"asked to stop: {_words(intent.cancel_reason)}")
        yield Event(at=intent.cancel_requested_at, channel="", text=text)


_STOPPED = {
    "account_limit": "not to be sent: the account's limit is used up",
    "destination_limit": "not to be sent: the limits of all its destinations are used up",
}


def _after(causes: Iterable[Event], event: Event) -> Event:
    """``event``, not before what led to it: SQLite's clock has fewer digits than a worker's."""
    return replace(event, at=max([event.at, *(cause.at for cause in causes)]))


def _delivery_events(delivery: Delivery, attempts: Sequence[Attempt]) -> Iterator[Event]:
    """What we did ourselves."""
    tries = [event for attempt in attempts for event in _attempt_events(delivery, attempt)]
    if delivery.arm_at and (delivery.arm_reason or delivery.state == "waiting"):
        yield Event(at=delivery.arm_at, channel=delivery.channel, text=_arming(delivery))
    yield from tries
    if delivery.finished_at:
        text = "accepted" if _ended_late(delivery, attempts) else _ending(delivery)
        yield _after(tries, Event(at=delivery.finished_at, channel=delivery.channel, text=text))
    elif delivery.state == "pending":
        yield Event(at=delivery.due_at, channel=delivery.channel, text=_waiting(delivery))


def _later_events(delivery: Delivery, attempts: Sequence[Attempt]) -> Iterator[Event]:
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
    why = f": {_words(attempt.receipt_reason)}" if attempt.receipt == "failed" else ""
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
        return _ARMED.get(delivery.arm_reason, f"armed: {_words(delivery.arm_reason)}")
    return "waits until then for the channel before it"


def _attempt_events(delivery: Delivery, attempt: Attempt) -> Iterator[Event]:
    yield Event(
        at=attempt.started_at,
        channel=delivery.channel,
        text=f"attempt {attempt.number} started, {attempt.queue_delay_seconds:.3f} s after it was due, "
        f"through {attempt.transport}",
    )
    if attempt.finished_at:
        text = f"attempt {attempt.number} {attempt.outcome}: {_words(attempt.reason)}"
        late = f" (its worker came back later: {attempt.late_outcome})" if attempt.late_outcome else ""
        yield Event(at=attempt.finished_at, channel=delivery.channel, text=text + late)


def _ending(delivery: Delivery) -> str:
    reason = f": {_words(delivery.reason)}" if delivery.reason not in {"", "ok"} else ""
    return f"{delivery.state}{reason}"


def _waiting(delivery: Delivery) -> str:
    reason = f" after {_words(delivery.reason)}" if delivery.reason else ""
    limit = f", but not to be sent: {_words(delivery.suppressed)}" if delivery.suppressed else ""
    return f"due{reason}{limit}"


def _words(code: str) -> str:
    return code.replace("_", " ")
