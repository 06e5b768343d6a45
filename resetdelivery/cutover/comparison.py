"""Our shadows beside what the existing sender reported, at one moment, from counts and the rows' endings."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import router
from django.db.models import BooleanField, Count, Exists, OuterRef, Q
from django.db.models.expressions import ExpressionWrapper

from resetdelivery.conf import get_settings
from resetdelivery.domain.comparison import (
    NOT_EXPECTED,
    OPEN,
    UNTOLD,
    Comparison,
    Pair,
)
from resetdelivery.domain.reasons import CancelReason
from resetdelivery.domain.states import FINISHED_STATES, HELD_STATES, IDLE_STATES, Authority
from resetdelivery.domain.telemetry import CountedEvent
from resetdelivery.models import Delivery, EventMinute, IdempotencyKey
from resetdelivery.reconciliation.snapshot import Snapshot, snapshot
from resetdelivery.telemetry import tallies

#: Of one channel, by event and label.
_Events = Counter[tuple[str, str]]

_FROM_ROWS = (
    *(CountedEvent.ADMITTED, CountedEvent.SHADOW_CLAIMED, CountedEvent.SHADOW_FINISHED),
    *(CountedEvent.SHADOW_REFUSED, CountedEvent.SHADOW_DELAY, CountedEvent.SHADOW_SEGMENTS),
)
_WANTED = (*_FROM_ROWS, CountedEvent.LEGACY_REPORTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Every configured channel, by name, from ``since`` (a whole minute) until ``at``."""

    since: dt.datetime
    at: dt.datetime
    channels: tuple[Comparison, ...]

    def is_within(self, tolerated_per_mille: int) -> bool:
        """Whether no channel has more disagreements than that among what can be compared."""
        return all(one.is_within(tolerated_per_mille) for one in self.channels)


def compare(window: dt.timedelta, *, using: str | None = None) -> Compared:
    """What ended within the last ``window``: from a minute to seven days, as far as it is kept.

    All statements see one moment and wait for nobody; open minutes are counted anew.
    Raises :class:`~resetdelivery.reconciliation.InvalidWindow`; ``OperationalError`` after five minutes.
    """
    with snapshot(window, using=using or router.db_for_read(Delivery)) as at:
        events, pairs = _events(at), _pairs(at)
        return Compared(
            since=at.since,
            at=at.now,
            channels=tuple(
                _comparison(channel.value, events[channel.value], pairs[channel.value])
                for channel in sorted(get_settings().channels)
            ),
        )


def _comparison(channel: str, events: _Events, pairs: Sequence[Pair]) -> Comparison:
    def of(event: CountedEvent) -> dict[str, int]:
        return {label: n for (name, label), n in sorted(events.items()) if name == event and n}

    reported = Counter[str]()
    for label, number in of(CountedEvent.LEGACY_REPORTED).items():
        reported[label.rpartition(":")[2]] += number
    return Comparison(
        channel=channel,
        admitted=of(CountedEvent.ADMITTED),
        claimed=sum(of(CountedEvent.SHADOW_CLAIMED).values()),
        endings=of(CountedEvent.SHADOW_FINISHED),
        refused=of(CountedEvent.SHADOW_REFUSED),
        delays=of(CountedEvent.SHADOW_DELAY),
        segments=of(CountedEvent.SHADOW_SEGMENTS),
        reported=reported,
        pairs=pairs,
    )


def _events(at: Snapshot) -> Mapping[str, _Events]:
    """By channel what was counted: of final minutes all, of the others what leaves no row, and the rows."""
    found: dict[str, _Events] = defaultdict(Counter)
    counted = EventMinute.objects.using(at.connection.alias).filter(
        Q(minute__lt=at.closed) | Q(kept=True), minute__gte=at.since, event__in=_WANTED
    )
    for channel, event, label, number in counted.values_list("channel", "event", "label", "count"):
        found[channel][event, label] += number
    for key, number in tallies.events(at.connection, tallies.between(*at.open), *_FROM_ROWS).items():
        found[key.channel][key.event, key.label] += number
    return found


def _pairs(at: Snapshot) -> Mapping[str, Sequence[Pair]]:
    """By channel what is not ours to send: how it ended within the window, or that it is open now.

    From rows: a report may come before our ending does, and would be set beside none in the counts.
    """
    others = Delivery.objects.using(at.connection.alias).exclude(authority=Authority.PIPELINE)
    others = others.annotate(unanswered=ExpressionWrapper(_unanswered(at), output_field=BooleanField()))
    ended = others.filter(finished_at__gte=at.since, finished_at__lt=at.until)
    # Apart, as each has a partial index of its own.
    still_open = [others.filter(state__in=states) for states in (IDLE_STATES, HELD_STATES)]
    found: dict[str, Counter[tuple[str, str, str]]] = defaultdict(Counter)
    for rows in (ended, *still_open):
        for row in rows.values(*_BY).annotate(number=Count("pk")):
            found[row["channel"]][_ours(row)] += row["number"]
    return defaultdict(tuple, {channel: _sorted(numbers) for channel, numbers in found.items()})


_BY = ("channel", "state", "reason", "legacy_outcome", "suppressed", "unanswered")


def _unanswered(at: Snapshot) -> Q:
    """Whether no answer named the delivery's intent, so that nobody can report of it.

    Of accounts that share an address only one is answered, and what a verification strands is
    nobody's. An answered intent has a key; as long as keys are kept, which is the limit of this.
    """
    keys = IdempotencyKey.objects.using(at.connection.alias).filter(intent=OuterRef("intent_id"))
    kept = Q(intent__created_at__gt=at.now - get_settings().keep_idempotency_keys)
    return kept & Q(~Exists(keys))


def _ours(row: Mapping[str, Any]) -> tuple[str, str, str]:
    finished = row["state"] in FINISHED_STATES
    return (
        row["state"] if finished else OPEN,
        row["legacy_outcome"] or (NOT_EXPECTED if _is_not_expected(row) else UNTOLD),
        row["reason"] if finished else "",
    )


def _is_not_expected(row: Mapping[str, Any]) -> bool:
    over_a_limit = row["suppressed"] or row["reason"] == CancelReason.ACCOUNT_LIMIT
    return bool(row["unanswered"] or over_a_limit)


def _sorted(numbers: Counter[tuple[str, str, str]]) -> tuple[Pair, ...]:
    return tuple(
        Pair(ours=ours, theirs=theirs, reason=reason, number=number)
        for (ours, theirs, reason), number in sorted(numbers.items())
    )
