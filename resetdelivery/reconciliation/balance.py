"""One equation between two numbers, and what it can mean where they differ."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field


class Check(enum.StrEnum):
    """What is compared; the words of each stand in :data:`WORDS`."""

    ADMITTED_EVER = "admitted_ever"
    ADMITTED = "admitted"
    OPEN_INTENTS = "open_intents"
    CLOSED_INTENTS = "closed_intents"
    ATTEMPTS = "attempts"
    ATTEMPT_ROWS = "attempt_rows"
    ACCEPTED = "accepted"
    SUBMITTING = "submitting"
    RUNNING = "running"
    ACCEPTED_DELIVERIES = "accepted_deliveries"
    ACCEPTED_ATTEMPTS = "accepted_attempts"
    BOUNCED = "bounced"
    DELIVERED = "delivered"
    TOLD = "told"
    OUTCOME_MINUTES = "outcome_minutes"
    EVENT_MINUTES = "event_minutes"
    OUTCOME_TOTALS = "outcome_totals"
    EVENT_TOTALS = "event_totals"


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Names of the two sides, and what it can mean that one of them is larger."""

    left: str
    right: str
    left_larger: str
    right_larger: str


_NEVER = "cannot be: an error in this comparison"

WORDS: Mapping[Check, Words] = {
    Check.ADMITTED_EVER: Words(
        left="admitted, ever",
        right="finished, ever + open now",
        left_larger="deliveries were deleted by hand before they ended, or a total of the finished lost some",
        right_larger="a finished delivery was opened again by hand, or a total of the admitted lost some",
    ),
    Check.ADMITTED: Words(
        left="admitted in the window",
        right="deliveries in a final state + in flight",
        left_larger="deliveries were deleted by hand, or counted twice",
        right_larger="deliveries were admitted that nothing counted, or their counts were deleted",
    ),
    Check.OPEN_INTENTS: Words(
        left="open intents",
        right="those with work left",
        left_larger="an intent was not closed as its last delivery ended, or that was ended by hand",
        right_larger=_NEVER,
    ),
    Check.CLOSED_INTENTS: Words(
        left="closed intents",
        right="those without work left",
        left_larger="a delivery was opened again by hand, or an intent closed by hand",
        right_larger=_NEVER,
    ),
    Check.ATTEMPTS: Words(
        left="attempts in the window",
        right="their counted outcomes + running",
        left_larger="attempts ended that nothing counted, or their counts were deleted",
        right_larger="attempts were deleted by hand, or counted twice",
    ),
    Check.ATTEMPT_ROWS: Words(
        left="attempts that deliveries say they had",
        right="attempts that are stored",
        left_larger="attempts were deleted by hand",
        right_larger=_NEVER,
    ),
    Check.ACCEPTED: Words(
        left="counted as accepted",
        right="receipts + unconfirmed",
        left_larger="accepted attempts were deleted or changed by hand, or counted twice",
        right_larger="attempts were accepted that nothing counted, or their counts were deleted",
    ),
    Check.SUBMITTING: Words(
        left="deliveries that are being submitted",
        right="those with a running attempt",
        left_larger="an attempt was deleted or ended by hand while its worker was at it",
        right_larger=_NEVER,
    ),
    Check.RUNNING: Words(
        left="deliveries with a running attempt",
        right="those that are being submitted",
        left_larger="a delivery was changed by hand while its worker was at it: nobody will end the attempt",
        right_larger=_NEVER,
    ),
    Check.ACCEPTED_DELIVERIES: Words(
        left="deliveries that say a provider accepted them",
        right="those with an attempt or receipt that says so",
        left_larger="a delivery was changed by hand, or its attempts were deleted",
        right_larger=_NEVER,
    ),
    Check.ACCEPTED_ATTEMPTS: Words(
        left="deliveries with an accepted attempt",
        right="those that say so",
        left_larger="a delivery was changed by hand after a provider accepted it",
        right_larger=_NEVER,
    ),
    Check.BOUNCED: Words(
        left="deliveries that failed after a provider accepted them",
        right="those with a receipt that says so",
        left_larger="a delivery was changed by hand, or a receipt was deleted",
        right_larger=_NEVER,
    ),
    Check.DELIVERED: Words(
        left="deliveries that say they arrived",
        right="those with a receipt that says so",
        left_larger="a delivery was changed by hand, or a receipt was deleted",
        right_larger=_NEVER,
    ),
    Check.TOLD: Words(
        left="accepted deliveries with a receipt of their arrival",
        right="those that say they arrived",
        left_larger="a receipt did not move its delivery on, or the delivery was changed back by hand",
        right_larger=_NEVER,
    ),
    Check.OUTCOME_MINUTES: Words(
        left="attempts in closed minutes",
        right="attempts in rows",
        left_larger="attempts were deleted or changed by hand, or a minute was counted twice",
        right_larger="a minute lost counts, or attempts were changed or stored by hand after it was closed",
    ),
    Check.EVENT_MINUTES: Words(
        left="events in closed minutes",
        right="events in rows",
        left_larger="rows were deleted or changed by hand, or a minute was counted twice",
        right_larger="a minute lost counts, or rows were changed or stored by hand after it was closed",
    ),
    Check.OUTCOME_TOTALS: Words(
        left="attempts in the lifetime total",
        right="attempts in the closed minutes that are kept",
        left_larger=_NEVER,
        right_larger="the total lost counts: its counter fell",
    ),
    Check.EVENT_TOTALS: Words(
        left="events in the lifetime total",
        right="events in the closed minutes that are kept",
        left_larger=_NEVER,
        right_larger="the total lost counts: its counter fell",
    ),
}


class Surplus(enum.StrEnum):
    """Why the left side may be larger, and nothing is wrong."""

    NONE = ""
    #: Intents of accounts that do not exist are deleted before the others.
    DECOYS_DELETED = "decoys_deleted"
    #: A receipt was replaced by a weightier one, which counts for another minute.
    RECEIPT_REPLACED = "receipt_replaced"
    #: The total outlives the minutes.
    MINUTES_DELETED = "minutes_deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """Two numbers that must be equal, of one channel and one label (each empty for all together).

    ``parts`` are what the right one is made of. ``minutes`` is how many minutes it is about, where it
    is about such. With a ``surplus`` the left one may be larger.
    """

    check: Check
    channel: str = ""
    label: str = ""
    left: int
    right: int
    parts: Mapping[str, int] = field(default_factory=dict)
    minutes: int = 0
    surplus: Surplus = Surplus.NONE

    @property
    def difference(self) -> int:
        """By how much the left one is larger; below zero where the right one is. Zero where that may be."""
        much = self.left - self.right
        return 0 if much > 0 and self.surplus else much

    @property
    def of(self) -> str:
        """The channel and the label."""
        return " ".join(filter(None, (self.channel, self.label)))

    def sentence(self) -> str:
        """Both sides with their numbers and, where they differ, what that can mean."""
        words = WORDS[self.check]
        parts = ", ".join(f"{name} {number}" for name, number in sorted(self.parts.items()) if number)
        sides = f"{words.left} {self.left}, {words.right} {self.right}" + (f" ({parts})" if parts else "")
        if self.difference > 0:
            return f"{sides}: {self.difference} more on the left. Perhaps {words.left_larger}."
        if self.difference < 0:
            return f"{sides}: {-self.difference} more on the right. Perhaps {words.right_larger}."
        return f"{sides}."
