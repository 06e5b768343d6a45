"""Sums of what attempts measured, added up bucket by bucket. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from resetdelivery.domain.telemetry import (
    DURATION_SECONDS,
    LEASE_USED_RATIO,
    QUEUE_DELAY_SECONDS,
    REMAINING_RATIO,
    SEGMENT_BUCKETS,
    no_counts,
    summed,
)

#: Each measure is rounded to whole units of 1/1024 (of a second, of a ratio) before it is added. Such
#: sums are exact in whatever order they are made: a counter that fell by one last bit would be read
#: as one that began anew.
UNITS = 1024

#: The bounds of the buckets of the four measures, in the order in which a :class:`Group` has them.
MEASURES = (QUEUE_DELAY_SECONDS, DURATION_SECONDS, REMAINING_RATIO, LEASE_USED_RATIO)
_QUEUE_DELAY, _DURATION, _REMAINING, _LEASE_USED = range(len(MEASURES))


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """``number`` attempts whose measures fell into the same buckets.

    Per measure the bucket's index, ``None`` where it was not measured, and the sum in :data:`UNITS`;
    ``segments`` is one of :data:`~resetdelivery.domain.telemetry.SEGMENT_BUCKETS` or anything else.
    """

    number: int
    segments: str
    buckets: Sequence[int | None]
    units: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """The numbers of :class:`~resetdelivery.models.outcome_counts.OutcomeCounts`, under its names."""

    attempts: int = 0
    queue_delay_counts: list[int] = field(default_factory=list)
    queue_delay_seconds: float = 0.0
    duration_counts: list[int] = field(default_factory=list)
    duration_seconds: float = 0.0
    remaining_counts: list[int] = field(default_factory=list)
    remaining_ratio: float = 0.0
    lease_used_counts: list[int] = field(default_factory=list)
    lease_used_ratio: float = 0.0
    segments_counts: list[int] = field(default_factory=list)


#: What :class:`Sums` adds up.
NAMES = tuple(one.name for one in fields(Sums))


def sums_of(groups: Sequence[Group]) -> Sums:
    """All groups together."""
    return Sums(
        attempts=sum(group.number for group in groups),
        queue_delay_counts=_counts(groups, _QUEUE_DELAY),
        queue_delay_seconds=_sum(groups, _QUEUE_DELAY),
        duration_counts=_counts(groups, _DURATION),
        duration_seconds=_sum(groups, _DURATION),
        remaining_counts=_counts(groups, _REMAINING),
        remaining_ratio=_sum(groups, _REMAINING),
        lease_used_counts=_counts(groups, _LEASE_USED),
        lease_used_ratio=_sum(groups, _LEASE_USED),
        segments_counts=[
            sum(group.number for group in groups if group.segments == bucket) for bucket in SEGMENT_BUCKETS
        ],
    )


def plus(first: Sums, *others: Sums) -> Sums:
    """Bucket by bucket the sum of all."""
    every = (first, *others)
    return Sums(**{name: _together([getattr(one, name) for one in every]) for name in NAMES})


def negative(sums: Sums) -> Sums:
    """What takes ``sums`` away where it is added."""
    return Sums(**{name: _negated(getattr(sums, name)) for name in NAMES})


def _counts(groups: Sequence[Group], measure: int) -> list[int]:
    counts = no_counts(MEASURES[measure])
    for group in groups:
        bucket = group.buckets[measure]
        if bucket is not None:
            counts[bucket] += group.number
    return counts


def _sum(groups: Sequence[Group], measure: int) -> float:
    return sum(group.units[measure] for group in groups) / UNITS


def _together(values: list[Any]) -> Any:
    return summed(*values) if isinstance(values[0], list) else sum(values)


def _negated(value: Any) -> Any:
    return [-one for one in value] if isinstance(value, list) else -value
