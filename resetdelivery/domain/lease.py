"""How long a lease must be. Pure; durations are seconds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TypeVar

Row = TypeVar("Row")


def lease_seconds(wished_seconds: float, send_budget_seconds: float, margin_seconds: float) -> float:
    """The lease to take: the wish, but never shorter than one send and its bookkeeping."""
    return max(wished_seconds, send_budget_seconds + margin_seconds)


def waves(rows: Sequence[Row], width: int) -> list[list[Row]]:
    """``rows`` in groups of at most ``width``, in order.

    Each wave is marked as it starts, so that a crash leaves one wave ambiguous and not the batch.
    """
    remaining = iter(rows)
    return list(iter(lambda: list(islice(remaining, width)), []))
