"""What happened to one intent, in order and in plain words. Nothing personal is in it."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

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
    events = sorted(_events(intent), key=lambda event: event.at)
    return Timeline(
        reference=intent.reference,
        state=intent.state,
        expires_at=intent.expires_at,
        events=tuple(events),
    )


def _events(intent: ResetIntent) -> Iterator[Event]:
    yield Event(at=intent.created_at, channel="", text="requested")
    if intent.cancel_requested_at:
        yield _intent_event(intent.cancel_requested_at, f"asked to stop: {_words(intent.cancel_reason)}")
    for delivery in intent.deliveries.order_by("position").prefetch_related("attempt_rows"):
        yield from _delivery_events(delivery)
    if intent.closed_at:
        yield _intent_event(intent.closed_at, "closed: nothing more can happen")


def _intent_event(at: dt.datetime, text: str) -> Event:
    return Event(at=at, channel="", text=text)


def _delivery_events(delivery: Delivery) -> Iterator[Event]:
    for attempt in delivery.attempt_rows.all():
        yield from _attempt_events(delivery, attempt)
    if delivery.finished_at:
        yield Event(at=delivery.finished_at, channel=delivery.channel, text=_ending(delivery))
    elif delivery.state == "pending":
        yield Event(at=delivery.due_at, channel=delivery.channel, text=_waiting(delivery))


def _attempt_events(delivery: Delivery, attempt: Attempt) -> Iterator[Event]:
    yield Event(
        at=attempt.started_at,
        channel=delivery.channel,
        text=f"attempt {attempt.number} started, {attempt.queue_delay_seconds:.3f} s after it was due",
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
    return f"due{reason}"


def _words(code: str) -> str:
    return code.replace("_", " ")
