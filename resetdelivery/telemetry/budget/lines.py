"""What log lines cost: each event written as it is logged, with values such as it has, and measured."""

from __future__ import annotations

import datetime as dt
import gzip
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from resetdelivery.domain.budget import BATCH_LINES, mean
from resetdelivery.log_lines import as_json, in_order, timestamp
from resetdelivery.log_schema import Event
from resetdelivery.telemetry.budget.samples import varied

Line = Mapping[str, object]

#: Batches whose mean is told: sizes of compressed batches differ by a few octets.
BATCHES = 4
SEED = 731
FIRST_AT = dt.datetime(2026, 1, 5, 9, 30, 0, 123456, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldCost:
    """One name of a line with its values: the octets that a line would have less without it."""

    name: str
    raw_bytes: float
    batch_bytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EventCost:
    """One event; octets of a line with its end.

    ``worst_bytes`` and ``typical_bytes`` are of the examples in the schema, ``mean_bytes`` of lines
    with varied values, and ``batch_bytes`` a line's share of a compressed batch of those.
    ``names_bytes`` is what of the mean is names, which every line repeats. ``fields`` are measured for
    events that resets make, and empty for those of faults.
    """

    name: str
    per_reset: float
    worst_bytes: int
    typical_bytes: int
    mean_bytes: float
    batch_bytes: float
    names_bytes: float
    fields: tuple[FieldCost, ...]


def event_costs(events: Iterable[Event], *, lines_per_day: float) -> tuple[EventCost, ...]:
    """The costs of ``events``, those that hold most first; ``lines_per_day`` sets the pace of time."""
    costs = [_cost(event, lines_per_day) for event in events]
    return tuple(sorted(costs, key=lambda cost: (-cost.per_reset * cost.mean_bytes, cost.name)))


def encoded(line: Line) -> bytes:
    """``line`` as the JSON form of the log has it, with its end."""
    return as_json(None, "", dict(line)).encode() + b"\n"


def _cost(event: Event, lines_per_day: float) -> EventCost:
    chance = random.Random(f"{SEED} {event.name}")  # noqa: S311 - examples  # nosec B311
    batches = [_batch(event, chance, lines_per_day) for _ in range(BATCHES if event.per_reset else 1)]
    raw, packed = _sizes(batches)
    worst, typical = (
        _line(event, {f.name: getattr(f, of) for f in event.fields}) for of in ("worst", "typical")
    )
    return EventCost(
        name=event.name,
        per_reset=event.per_reset,
        worst_bytes=len(encoded(worst)),
        typical_bytes=len(encoded(typical)),
        mean_bytes=raw,
        batch_bytes=packed,
        names_bytes=mean([sum(map(_name_bytes, line)) for batch in batches for line in batch]),
        fields=tuple(_field_cost(name, batches, raw, packed) for name in worst) if event.per_reset else (),
    )


def _field_cost(name: str, batches: Sequence[Sequence[Line]], raw: float, packed: float) -> FieldCost:
    without = [[{k: v for k, v in line.items() if k != name} for line in batch] for batch in batches]
    raw_without, packed_without = _sizes(without)
    return FieldCost(name=name, raw_bytes=raw - raw_without, batch_bytes=packed - packed_without)


def _sizes(batches: Sequence[Sequence[Line]]) -> tuple[float, float]:
    """Mean octets of a line, as it is and as its share of a compressed batch."""
    texts = [b"".join(map(encoded, batch)) for batch in batches]
    packed = [len(gzip.compress(text, mtime=0)) for text in texts]
    return mean([len(text) / BATCH_LINES for text in texts]), mean([size / BATCH_LINES for size in packed])


def _batch(event: Event, chance: random.Random, lines_per_day: float) -> list[Line]:
    """So many lines, with as much time between them as ``lines_per_day`` leave."""
    at, lines = FIRST_AT, []
    for _ in range(BATCH_LINES):
        at += dt.timedelta(days=chance.expovariate(lines_per_day))
        lines.append(_line(event, {f.name: varied(f, chance) for f in event.fields}, at=at))
    return lines


def _line(event: Event, values: Mapping[str, object], *, at: dt.datetime = FIRST_AT) -> Line:
    """A field without a value is not in the line."""
    frame = {"timestamp": timestamp(at), "level": "info", "event": event.name}
    return in_order(None, "", frame | {name: value for name, value in values.items() if value is not None})


def _name_bytes(name: str) -> int:
    """Of a name with its quotes, colon and comma."""
    return len(name) + len('"":,')
