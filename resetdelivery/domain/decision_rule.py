"""Whether a reset can still help when all goes badly: the decision rule. Pure; durations are seconds.

The rule: the worst normal queue delay, plus processing, plus the whole retry budget, fits inside the
useful expiry. Useful is what is left of the shortest life that is admitted when the time a person
needs is taken away at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count, islice

from resetdelivery.domain.retry import RetryPolicy, backoff_seconds

#: Attempts that are shown one by one, of however many.
MOST_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """One delivery's way from the request to the attempt that succeeds.

    ``life_seconds`` is the shortest life that is admitted. ``rounding_seconds`` is what the expiry may
    lose of it by being whole, ``admission_seconds`` the transaction behind the request. After that and
    after each backoff somebody must come to know that the row is due: ``hint_seconds`` and
    ``wake_seconds``. It then waits ``queue_seconds`` for a worker and ``claim_seconds`` with it.
    ``recovery_seconds`` go by when one worker dies with it, before it sent anything. An attempt that
    fails takes ``failure_seconds``, the last one ``latency_seconds``. ``tries`` is how many attempts
    are made without anybody's doing; the backoffs are those of ``policy``, at full jitter's top, or
    ``pause_seconds`` where that is longer: the provider rests after outages.
    """

    life_seconds: float
    rounding_seconds: float
    admission_seconds: float
    hint_seconds: float
    queue_seconds: float
    claim_seconds: float
    recovery_seconds: float
    failure_seconds: float
    pause_seconds: float
    wake_seconds: float
    latency_seconds: float
    tries: int
    policy: RetryPolicy

    @property
    def pickup_seconds(self) -> float:
        """From when somebody knows of the row until an attempt is on record."""
        return self.queue_seconds + self.claim_seconds

    @property
    def useful_seconds(self) -> float:
        """By when the last attempt must have succeeded to help anyone."""
        return self.life_seconds - self.policy.min_useful_seconds

    @property
    def last_start_seconds(self) -> float:
        """When the last attempt that can help starts, at the latest."""
        return self.useful_seconds - self.latency_seconds

    @property
    def first_start_seconds(self) -> float:
        """When the first attempt starts."""
        before = self.rounding_seconds + self.admission_seconds + self.hint_seconds
        return before + self.pickup_seconds + self.recovery_seconds

    def rest_seconds(self, attempt: int) -> float:
        """From the end of the failed ``attempt`` until the row is due again."""
        return max(backoff_seconds(self.policy, attempt), self.pause_seconds)

    def between_seconds(self, attempt: int) -> float:
        """From the end of the failed ``attempt`` until the next one starts."""
        return self.rest_seconds(attempt) + self.wake_seconds + self.pickup_seconds

    def starts(self) -> Iterator[float]:
        """When each attempt starts, all before it having failed; without an end."""
        start = self.first_start_seconds
        for attempt in count(1):
            yield start
            start += self.failure_seconds + self.between_seconds(attempt)

    def start_seconds(self, attempt: int) -> float:
        """When ``attempt`` starts; the first is 1."""
        return next(islice(self.starts(), attempt - 1, None))

    def needed_seconds(self, attempt: int) -> float:
        """How long it takes until ``attempt`` has succeeded."""
        return self.start_seconds(attempt) + self.latency_seconds

    def fits(self, attempt: int) -> bool:
        """Whether ``attempt`` can still help."""
        return self.start_seconds(attempt) <= self.last_start_seconds

    @property
    def fitting(self) -> int:
        """How many of ``tries`` attempts can help; nobody looks beyond the first that cannot."""
        starts = enumerate(islice(self.starts(), self.tries))
        return next((n for n, start in starts if start > self.last_start_seconds), self.tries)

    @property
    def all_fit(self) -> bool:
        """Whether the whole retry budget fits."""
        return self.fitting == self.tries

    @property
    def shown(self) -> range:
        """The numbers of the attempts that are shown one by one."""
        return range(1, min(self.tries, MOST_SHOWN) + 1)


def recovery_seconds(
    *, lease_seconds: float, sweep_seconds: float, hint_seconds: float, pickup_seconds: float
) -> float:
    """What a worker costs that dies as it has taken a row: its lease, a sweep, and all over again."""
    return lease_seconds + sweep_seconds + hint_seconds + pickup_seconds


def lost_hint_seconds(*, grace_seconds: float, sweep_seconds: float, hint_seconds: float) -> float:
    """What a hint costs that nobody ever read: the sweep tells again once the grace is over."""
    return grace_seconds + sweep_seconds + hint_seconds


def largest(fits: Callable[[int], bool], low: int, high: int) -> int | None:
    """The largest whole number from ``low`` to ``high`` that fits, where all below one that fits do."""
    if high < low or not fits(low):
        return None
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def smallest(fits: Callable[[int], bool], low: int, high: int) -> int | None:
    """The smallest whole number from ``low`` to ``high`` that fits, where all above one that fits do."""
    found = largest(lambda number: fits(-number), -high, -low)
    return None if found is None else -found
