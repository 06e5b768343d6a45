"""Retry arithmetic. Pure: time and randomness are arguments; durations are seconds."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How one channel tries again.

    ``max_attempts`` counts every try, the first included. ``max_ambiguous_resends`` bounds how
    often a delivery is sent again after an ambiguous attempt; ``None`` is no bound of its own.
    """

    base_seconds: float = 2.0
    factor: float = 2.0
    cap_seconds: float = 60.0
    max_attempts: int = 6
    max_ambiguous_resends: int | None = None
    expected_queue_delay_seconds: float = 1.0
    expected_latency_seconds: float = 2.0
    min_useful_seconds: float = 30.0

    @property
    def useful_floor_seconds(self) -> float:
        """Lifetime that must be left when a submission starts, for it to help anyone."""
        return self.expected_latency_seconds + self.min_useful_seconds


def backoff_seconds(policy: RetryPolicy, attempts: int) -> float:
    """The longest delay after ``attempts`` tries: ``min(cap, base · factor^(n-1))``."""
    try:
        return min(policy.cap_seconds, policy.base_seconds * float(policy.factor) ** max(attempts - 1, 0))
    except OverflowError:
        # A float power overflows long after every cap.
        return policy.cap_seconds


def full_jitter(longest_seconds: float, draw: float) -> float:
    """A delay drawn from ``[0, longest]``; ``draw`` is uniform in ``[0, 1)``.

    Full jitter spreads a herd that failed together over the whole interval.
    """
    return longest_seconds * draw


def retry_delay_seconds(
    policy: RetryPolicy, attempts: int, draw: float, retry_after_seconds: float | None
) -> float:
    """The delay before the next try; the provider's own wish wins over ours."""
    if retry_after_seconds is not None:
        return max(retry_after_seconds, 0.0)
    return full_jitter(backoff_seconds(policy, attempts), draw)


def retry_fits(
    policy: RetryPolicy, *, now: dt.datetime, delay_seconds: float, expires_at: dt.datetime
) -> bool:
    """Whether a try after ``delay_seconds`` can still be of use before ``expires_at``."""
    needed = delay_seconds + policy.expected_queue_delay_seconds + policy.useful_floor_seconds
    return needed <= (expires_at - now).total_seconds()


def still_useful(policy: RetryPolicy, *, now: dt.datetime, expires_at: dt.datetime) -> bool:
    """Whether a submission that starts now can still be of use."""
    return policy.useful_floor_seconds <= (expires_at - now).total_seconds()
