"""Every equation of a reconciliation, from counters and rows of one snapshot."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import TypeVar

from notifications.receipts.receipt import ReceiptVerdict
from resetdelivery.domain.states import OPEN_STATES
from resetdelivery.domain.telemetry import CountedEvent
from resetdelivery.reconciliation import counters, rows
from resetdelivery.reconciliation.balance import Balance, Check, Surplus
from resetdelivery.reconciliation.counters import Labelled
from resetdelivery.reconciliation.snapshot import Snapshot
from resetdelivery.telemetry.tallies import EventKey

K = TypeVar("K", bound=Hashable)

#: Counted of every intent, and so of those that are deleted first.
_OF_DECOYS = frozenset(
    {
        *(CountedEvent.ADMITTED, CountedEvent.HINT, CountedEvent.FINISHED, CountedEvent.EXPIRED_USEFULLY),
        *(CountedEvent.SHADOW_CLAIMED, CountedEvent.SHADOW_FINISHED, CountedEvent.SHADOW_REFUSED),
    }
)


def all_of(at: Snapshot) -> Iterator[Balance]:
    """The balances, those of the whole first."""
    yield from _admitted_ever(at)
    yield from _admitted(at)
    for check, (left, right) in rows.intents(at).items():
        yield Balance(check=check, left=left, right=right)
    yield from _attempts(at)
    for (check, channel), (left, right) in sorted(rows.agreeing(at).items()):
        yield Balance(check=check, channel=channel, left=left, right=right)
    yield from _minutes(at)
    yield from _totals(Check.OUTCOME_TOTALS, *counters.outcome_totals(at))
    yield from _totals(Check.EVENT_TOTALS, *counters.event_totals(at))


def _admitted_ever(at: Snapshot) -> Iterator[Balance]:
    admitted, finished, shadows = counters.ever(
        at, CountedEvent.ADMITTED, CountedEvent.FINISHED, CountedEvent.SHADOW_FINISHED
    )
    still_open = rows.open_deliveries(at)
    for channel in _channels(admitted, finished, shadows, still_open):
        ended = {"finished": finished[channel], "finished shadows": shadows[channel]}
        parts = {**ended, **still_open.get(channel, {})}
        yield Balance(
            check=Check.ADMITTED_EVER,
            channel=channel,
            left=admitted[channel],
            right=sum(parts.values()),
            parts=parts,
        )


def _admitted(at: Snapshot) -> Iterator[Balance]:
    admitted = Counter[str]()
    for counted in (counters.stored_events(at), counters.row_events(at, at.open, CountedEvent.ADMITTED)):
        for key, number in counted.items():
            admitted[key.channel] += number if key.event == CountedEvent.ADMITTED else 0
    stored = rows.deliveries(at)
    for channel in _channels(admitted, stored):
        states = stored.get(channel, Counter())
        yield Balance(
            check=Check.ADMITTED,
            channel=channel,
            left=admitted[channel],
            right=states.total(),
            parts=_in_flight_together(states),
            surplus=Surplus.DECOYS_DELETED if at.since < at.decoys_since else Surplus.NONE,
        )


def _in_flight_together(states: Mapping[str, int]) -> Mapping[str, int]:
    final = {state: number for state, number in states.items() if state not in OPEN_STATES}
    return {**final, "in flight": sum(states.values()) - sum(final.values())}


def _attempts(at: Snapshot) -> Iterator[Balance]:
    stored, receipts, counted = rows.attempts(at), rows.accepted(at), counters.outcomes(at)
    for channel in _channels(stored, counted):
        ended, outcomes = counted.get(channel, Counter()), stored.get(channel, Counter())
        told = receipts.get(channel, Counter())
        parts = {**ended, "running": outcomes[""]}
        yield Balance(
            check=Check.ATTEMPTS,
            channel=channel,
            left=outcomes.total(),
            right=sum(parts.values()),
            parts=parts,
        )
        yield Balance(
            check=Check.ACCEPTED,
            channel=channel,
            left=ended["accepted"],
            right=told.total(),
            parts={name or "unconfirmed": number for name, number in told.items()},
        )


def _minutes(at: Snapshot) -> Iterator[Balance]:
    yield from _by_minute(
        Check.OUTCOME_MINUTES,
        counters.stored_outcomes(at),
        counters.row_outcomes(at, at.final),
        lambda key: (key[1], key[2], Surplus.NONE),
    )
    yield from _by_minute(
        Check.EVENT_MINUTES,
        counters.stored_events(at),
        counters.row_events(at, at.final),
        lambda key: (key.channel, f"{key.event} {key.label}", _surplus(at, key)),
    )


def _by_minute(
    check: Check, stored: Counter[K], found: Counter[K], of: Callable[[K], tuple[str, str, Surplus]]
) -> Iterator[Balance]:
    """Per channel and label the minutes that agree, those that say too much, and those that say too little.

    Apart, so that one of each does not look like two that agree.
    """
    sides: dict[tuple[str, str, Surplus, int], list[int]] = defaultdict(lambda: [0, 0, 0])
    for key in {*stored, *found}:
        left, right = stored[key], found[key]
        sums = sides[*of(key), (left > right) - (left < right)]
        for place, number in enumerate((left, right, 1)):
            sums[place] += number
    for (channel, label, surplus, _), (left, right, minutes) in sorted(sides.items()):
        yield Balance(
            check=check,
            channel=channel,
            label=label,
            left=left,
            right=right,
            minutes=minutes,
            surplus=surplus,
        )


def _surplus(at: Snapshot, key: EventKey) -> Surplus:
    if key.event in _OF_DECOYS and key.minute < at.decoys_since:
        return Surplus.DECOYS_DELETED
    if key.event == CountedEvent.RECEIPT and key.label != ReceiptVerdict.DELIVERED:
        return Surplus.RECEIPT_REPLACED
    return Surplus.NONE


def _totals(check: Check, totals: Labelled, minutes: Labelled) -> Iterator[Balance]:
    for channel, label in sorted({*totals, *minutes}):
        yield Balance(
            check=check,
            channel=channel,
            label=label,
            left=totals[channel, label],
            right=minutes[channel, label],
            surplus=Surplus.MINUTES_DELETED,
        )


def _channels(*found: Mapping[str, object]) -> list[str]:
    return sorted({channel for one in found for channel in one})
