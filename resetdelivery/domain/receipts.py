"""What a receipt changes: its rank on its attempt, and the step of its delivery. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from notifications.outcome import Reason
from notifications.receipts.receipt import ReceiptVerdict
from resetdelivery.domain.decisions import Decision
from resetdelivery.domain.states import DeliveryState

#: A receipt replaces one of lower rank, never one of its own or of a higher one, in whatever order
#: they come. What arrived has arrived: a later failure is about another copy, or a late correction.
RANKS: Mapping[ReceiptVerdict, int] = MappingProxyType(
    {ReceiptVerdict.PROGRESS: 1, ReceiptVerdict.FAILED: 2, ReceiptVerdict.DELIVERED: 3}
)


def outranked(verdict: ReceiptVerdict) -> list[ReceiptVerdict]:
    """The verdicts that ``verdict`` replaces where they are stored already."""
    return [other for other, rank in RANKS.items() if rank < RANKS[verdict]]


#: The states that a receipt moves a delivery out of. A SUBMITTING one is moved by the step that
#: ends its submission, which reads what was stored meanwhile.
MOVED: Mapping[ReceiptVerdict, frozenset[DeliveryState]] = MappingProxyType(
    {
        ReceiptVerdict.PROGRESS: frozenset(),
        # Refused copies are tried again by the channel itself; only an acceptance ends with this.
        ReceiptVerdict.FAILED: frozenset({DeliveryState.ACCEPTED}),
        ReceiptVerdict.DELIVERED: frozenset(
            {DeliveryState.PENDING, DeliveryState.LEASED, DeliveryState.ACCEPTED}
        ),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlyReceipts:
    """Receipts that came before the submission settled.

    ``delivered`` by any attempt; ``failure`` is why the newest one failed, or ``None``.
    """

    delivered: bool = False
    failure: Reason | None = None


def with_receipts(decision: Decision, early: EarlyReceipts) -> Decision:
    """``decision``, or the end that the receipts make of it: the same as if they had come later."""
    if early.delivered:
        return replace(decision, state=DeliveryState.DELIVERED, reason=Reason.OK.value, due_at=None)
    if decision.state is DeliveryState.ACCEPTED and early.failure is not None:
        return replace(decision, state=DeliveryState.FAILED, reason=early.failure.value)
    return decision
