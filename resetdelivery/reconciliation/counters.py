"""What was counted: minutes that are final, and lifetime totals with what is open yet."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import QuerySet, Sum

from resetdelivery.domain.telemetry import CountedEvent
from resetdelivery.models import EventMinute, EventTotal, OutcomeMinute, OutcomeTotal
from resetdelivery.reconciliation.snapshot import FAR, Snapshot
from resetdelivery.telemetry import tallies
from resetdelivery.telemetry.tallies import EventKey, between

#: Minute, channel, outcome.
OutcomeMinuteKey = tuple[dt.datetime, str, str]
Span = tuple[dt.datetime, dt.datetime]
#: Numbers by channel and label.
Labelled = Counter[tuple[str, str]]


def ever(at: Snapshot, *of: CountedEvent) -> list[Counter[str]]:
    """How often each event of ``of`` was counted by now, by channel: as its counters would be scraped."""
    alias, found = at.connection.alias, {event.value: Counter[str]() for event in of}
    totals = EventTotal.objects.using(alias).filter(event__in=of)
    kept = EventMinute.objects.using(alias).filter(event__in=of, kept=True, minute__gte=at.closed)
    for rows in (totals, kept):
        for event, channel, number in rows.values_list("event", "channel", "count"):
            found[event][channel] += number
    for key, number in tallies.events(at.connection, between(at.closed, FAR), *of).items():
        found[key.event][key.channel] += number
    return [found[event.value] for event in of]


def outcomes(at: Snapshot) -> Mapping[str, Counter[str]]:
    """Attempts of the window by channel and outcome: from its final minutes, else counted anew."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for counted in (stored_outcomes(at), row_outcomes(at, at.open)):
        for (_, channel, outcome), number in counted.items():
            found[channel][outcome] += number
    return found


def stored_outcomes(at: Snapshot) -> Counter[OutcomeMinuteKey]:
    """What the window's final minutes say of attempts that are still stored."""
    start, end = at.final
    minutes = OutcomeMinute.objects.using(at.connection.alias).filter(kept=False)
    rows = minutes.filter(minute__gte=start, minute__lt=end)
    found = Counter[OutcomeMinuteKey]()
    for minute, channel, outcome, number in rows.values_list("minute", "channel", "outcome", "attempts"):
        found[minute, channel, outcome] += number
    return found


def row_outcomes(at: Snapshot, span: Span) -> Counter[OutcomeMinuteKey]:
    """The same, counted anew from attempts."""
    found = Counter[OutcomeMinuteKey]()
    for key, sums in tallies.outcomes(at.connection, between(*span)).items():
        found[key.minute, key.channel, key.outcome] += sums.attempts
    return found


def stored_events(at: Snapshot) -> Counter[EventKey]:
    """What the window's final minutes say of rows that are still stored."""
    start, end = at.final
    minutes = EventMinute.objects.using(at.connection.alias).filter(kept=False)
    rows = minutes.filter(minute__gte=start, minute__lt=end)
    found = rows.values_list("minute", "event", "channel", "label", "count")
    return Counter({EventKey(minute, event, channel, label): n for minute, event, channel, label, n in found})


def row_events(at: Snapshot, span: Span, *of: CountedEvent) -> Counter[EventKey]:
    """The same, counted anew from rows: all events, or those of ``of``."""
    return Counter(tallies.events(at.connection, between(*span), *of))


def outcome_totals(at: Snapshot) -> tuple[Labelled, Labelled]:
    """Lifetime totals of attempts, and the sums of all final minutes."""
    labels = ("channel", "outcome")
    minutes = OutcomeMinute.objects.using(at.connection.alias).filter(minute__lt=at.closed)
    return (
        _labelled(OutcomeTotal.objects.using(at.connection.alias), labels, "attempts"),
        _labelled(minutes, labels, "attempts"),
    )


def event_totals(at: Snapshot) -> tuple[Labelled, Labelled]:
    """Lifetime totals of events, and the sums of all final minutes."""
    labels = ("channel", "event", "label")
    minutes = EventMinute.objects.using(at.connection.alias).filter(minute__lt=at.closed)
    return (
        _labelled(EventTotal.objects.using(at.connection.alias), labels, "count"),
        _labelled(minutes, labels, "count"),
    )


def _labelled(rows: QuerySet[Any], labels: Sequence[str], number: str) -> Labelled:
    found = rows.values_list(*labels).annotate(number=Sum(number))
    return Counter({(channel, " ".join(filter(None, rest))): n for channel, *rest, n in found})
