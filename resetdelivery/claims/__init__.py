"""The fenced lease protocol: claim, mark, settle, release. Nothing else moves a leased delivery.

Each step is a short transaction on the database's clock and compares id, token and state; a
worker that lost its lease matches no row. Locks are taken in one order: intents ascending, the
channel's control row, deliveries.
"""

from __future__ import annotations

from resetdelivery.claims.claim import Claimed, claim
from resetdelivery.claims.finish import finish_leased
from resetdelivery.claims.mark import Marked, Ready, mark
from resetdelivery.claims.release import release
from resetdelivery.claims.settle import Result, Settled, settle

__all__ = [
    "Claimed",
    "Marked",
    "Ready",
    "Result",
    "Settled",
    "claim",
    "finish_leased",
    "mark",
    "release",
    "settle",
]
