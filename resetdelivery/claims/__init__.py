"""The fenced lease protocol: claim, mark, settle, release, renew. Nothing else moves a leased delivery.

Each step is a short transaction on the database's clock and compares id, token and state; a
worker that lost its lease matches no row. Locks are taken in one order: intents ascending, the
channel's control row, deliveries.
"""

from __future__ import annotations

from resetdelivery.claims.claim import Claimed, claim
from resetdelivery.claims.finish import finish_leased
from resetdelivery.claims.held import Held, Hold, OnRecord, held, on_record
from resetdelivery.claims.mark import Marked, Ready, mark, segments_of
from resetdelivery.claims.release import release
from resetdelivery.claims.renew import renew
from resetdelivery.claims.settle import Result, Settled, settle

__all__ = [
    "Claimed",
    "Held",
    "Hold",
    "Marked",
    "OnRecord",
    "Ready",
    "Result",
    "Settled",
    "claim",
    "finish_leased",
    "held",
    "mark",
    "on_record",
    "release",
    "renew",
    "segments_of",
    "settle",
]
