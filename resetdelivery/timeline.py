"""What happened to one intent, in order and in plain words. Nothing personal is in it."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

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
    events = list(_events(intent))
    if intent.closed_at:
        closed = Event(at=intent.closed_at, channel="", text="closed: nothing more can happen")
        events.append(_after(events, closed))
    # A stable sort: of two things at one moment, the cause was told first.
    events.sort(key=lambda event: event.at)
    return Timeline(
        reference=intent.reference,
        state=intent.state,
        expires_at=intent.expires_at,
        events=tuple(events),
    )


def _events(intent: ResetIntent) -> Iterator[Event]:
    yield Event(at=intent.created_at, channel="", text="requested")
    if intent.cancel_requested_at:
        text = f"asked to stop: {_words(intent.cancel_reason)}"
        yield Event(at=intent.cancel_requested_at, channel="", text=text)
    for delivery in intent.deliveries.order_by("position").prefetch_related("attempt_rows"):
        yield from _delivery_events(delivery)


def _after(causes: Iterable[Event], event: Event) -> Event:
    """``event``, not before what led to it: SQLite's clock has fewer digits than a worker's."""
    return replace(event, at=max([event.at, *(cause.at for cause in causes)]))


def _delivery_events(delivery: Delivery) -> Iterator[Event]:
    tries = [event for attempt in delivery.attempt_rows.all() for event in _attempt_events(delivery, attempt)]
    yield from tries
    if delivery.finished_at:
        yield _after(tries, Event(at=delivery.finished_at, channel=delivery.channel, text=_ending(delivery)))
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
