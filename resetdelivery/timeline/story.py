"""An intent's answers and its events together."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import dataclass

from resetdelivery.conf import get_settings
from resetdelivery.domain.reasons import CancelReason
from resetdelivery.domain.states import IntentKind
from resetdelivery.models import ChannelControl, ResetIntent
from resetdelivery.timeline.answers import Answer, Found, answer
from resetdelivery.timeline.events import Event, after, delivery_events, intent_events, later_events


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """An intent's answers, one per channel in their order, and its events, oldest first.

    ``cancel_reason`` is why it was asked to stop, empty where it was not; ``scrubbed_at`` is when its
    account's reference was deleted.
    """

    reference: uuid.UUID
    kind: IntentKind
    state: str
    created_at: dt.datetime
    expires_at: dt.datetime
    cancel_reason: CancelReason | None
    scrubbed_at: dt.datetime | None
    answers: tuple[Answer, ...]
    events: tuple[Event, ...]

    def lines(self) -> list[str]:
        """The events as text, with the seconds since the first."""
        start = self.events[0].at
        return [
            f"+{(event.at - start).total_seconds():8.3f} s  {event.channel:<6} {event.text}"
            for event in self.events
        ]


def timeline_of(intent: ResetIntent) -> Timeline:
    """The timeline of a stored intent, by three queries."""
    found = _found(intent)
    return Timeline(
        reference=intent.reference,
        kind=IntentKind(intent.kind),
        state=intent.state,
        created_at=intent.created_at,
        expires_at=intent.expires_at,
        cancel_reason=CancelReason(intent.cancel_reason) if intent.cancel_reason else None,
        scrubbed_at=intent.scrubbed_at,
        answers=tuple(map(answer, found)),
        events=_events(intent, found),
    )


def _found(intent: ResetIntent) -> list[Found]:
    paused = ChannelControl.objects.using(intent._state.db).filter(paused=True)
    channels = set(paused.values_list("channel", flat=True))
    keep = get_settings().keep_attempts
    deliveries = intent.deliveries.order_by("position").prefetch_related("attempt_rows")
    return [
        Found(
            delivery=delivery,
            attempts=sorted(delivery.attempt_rows.all(), key=lambda attempt: attempt.number),
            paused=channels,
            keep_attempts=keep,
        )
        for delivery in deliveries
    ]


def _events(intent: ResetIntent, found: list[Found]) -> tuple[Event, ...]:
    """Everything that happened, channel by channel, and then by time."""
    own = list(intent_events(intent))
    events = list(own)
    for one in found:
        ours = list(delivery_events(one.delivery, one.attempts))
        own += ours
        events += [*ours, *later_events(one.delivery, one.attempts)]
    if intent.closed_at:
        closed = Event(at=intent.closed_at, channel="", text="closed: nothing more can happen")
        events.append(after(own, closed))
    if intent.scrubbed_at:
        events.append(Event(at=intent.scrubbed_at, channel="", text="the account's reference was deleted"))
    # A stable sort: of two things at one moment, the cause was told first.
    return tuple(sorted(events, key=lambda event: event.at))
