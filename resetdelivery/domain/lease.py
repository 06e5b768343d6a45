"""How long a lease must be, and may be. Pure; durations are seconds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TypeVar

Row = TypeVar("Row")


def lease_seconds(wished_seconds: float, send_budget_seconds: float, margin_seconds: float) -> float:
    """The lease to take: the wish, but never shorter than one send and its bookkeeping."""
    return max(wished_seconds, shortest_lease_seconds(send_budget_seconds, margin_seconds))


def shortest_lease_seconds(send_budget_seconds: float, margin_seconds: float) -> float:
    """One send and its bookkeeping: a lease that ends sooner lets two workers send at once."""
    return send_budget_seconds + margin_seconds


def longest_lease_seconds(usual_seconds: float, shortest_seconds: float) -> float:
    """The longest lease that a worker outside may ask for: ten of ours.

    What such a worker leaves behind comes back no sooner, and a reset does not live for long.
    """
    return max(10.0 * usual_seconds, shortest_seconds)


def waves(rows: Sequence[Row], width: int) -> list[list[Row]]:
    """``rows`` in groups of at most ``width``, in order.

    Each wave is marked as it starts, so that a crash leaves one wave ambiguous and not the batch.
    """
    remaining = iter(rows)
    return list(iter(lambda: list(islice(remaining, width)), []))
