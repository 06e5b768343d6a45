"""What a histogram's buckets say about its values. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate


def quantile(
    share: float, counts: Sequence[int], bounds: Sequence[float], *, top: float | None = None
) -> float | None:
    """The value that ``share`` of all values do not exceed, by straight lines within the buckets.

    ``counts`` are those of the buckets that ``bounds`` end (each with its bound included, the first
    from zero), and of one above them. The true value lies in the same bucket: the error is less than
    that bucket's width. ``top`` is the most that a value can be, if that is known; ``None`` is the
    answer for no values, and where nothing is known but that the value is above the last bound.
    """
    rank = share * sum(counts)
    if not rank:
        return None
    bucket, reached = next((n, total) for n, total in enumerate(accumulate(counts)) if total >= rank)
    upper = top if bucket == len(bounds) else bounds[bucket]
    if upper is None:
        return None
    lower = bounds[bucket - 1] if bucket else 0.0
    return upper - (upper - lower) * (reached - rank) / counts[bucket]
