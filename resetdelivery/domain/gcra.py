"""The leaky bucket as a meter (GCRA, ITU-T I.371, annex A): a rate with a burst, in one number.

What is stored is the theoretical arrival time: when a caller that had kept to the rate would have
come. Pure, in whole microseconds; the Lua script that runs in Redis is held to this.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

MICROSECOND = dt.timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """``limit`` calls at once, and each comes back after ``period / limit``."""

    limit: int
    period: dt.timedelta

    @property
    def interval_us(self) -> int:
        """Microseconds between two calls of a caller that keeps to the rate, rounded up."""
        return -(-(self.period // MICROSECOND) // self.limit)

    @property
    def capacity_us(self) -> int:
        """How far ahead of now the theoretical arrival time may run."""
        return self.interval_us * self.limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Metered:
    """One call, judged: ``wait_us`` is 0 if it may go on, and ``arrival_us`` what to store then.

    A refused call stores nothing: whoever hammers on waits no longer for it.
    """

    wait_us: int
    arrival_us: int


def meter(rate: Rate, *, arrival_us: int | None, now_us: int) -> Metered:
    """Judge a call at ``now_us``; ``arrival_us`` is what the last allowed one stored, if anything."""
    known = now_us if arrival_us is None else arrival_us
    # The upper bound matters only where the clock was set back: nobody waits for the past to come.
    base = min(max(known, now_us), now_us + rate.capacity_us)
    following = base + rate.interval_us
    wait = following - rate.capacity_us - now_us
    if wait > 0:
        return Metered(wait_us=wait, arrival_us=base)
    return Metered(wait_us=0, arrival_us=following)
