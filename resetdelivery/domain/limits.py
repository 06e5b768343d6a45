"""How many resets one account, and one destination, may ask for in a while. Pure.

OWASP's Forgot Password Cheat Sheet asks for a limit per account, so that nobody floods a mailbox.
"""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from notifications.channels import Channel
from resetdelivery.domain.reasons import CancelReason, SuppressReason

HOUR = dt.timedelta(hours=1)
#: The longest window: a use that is older counts for nothing.
DAY = dt.timedelta(days=1)


class LimitKind(enum.StrEnum):
    """What a limit counts by."""

    ACCOUNT = "account"
    DESTINATION = "destination"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The most uses in any :data:`HOUR` and in any :data:`DAY`, both up to now."""

    per_hour: int
    per_day: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Uses:
    """The counted uses so far in the last hour and in the last day; the day's hold the hour's."""

    in_hour: int = 0
    in_day: int = 0


def total(found: Iterable[Uses]) -> Uses:
    """The uses of one thing that stands under several keys, as it does while keys are changed."""
    uses = list(found)
    return Uses(in_hour=sum(one.in_hour for one in uses), in_day=sum(one.in_day for one in uses))


def is_used_up(limit: Limit, uses: Uses) -> bool:
    """Whether one more use would be one too many."""
    return uses.in_hour >= limit.per_hour or uses.in_day >= limit.per_day


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppression:
    """What the limits keep from being sent of one account's request.

    ``account``: its own limit is used up. ``channels``: those of whose destination it is.
    """

    account: bool = False
    channels: frozenset[Channel] = frozenset()

    def of_delivery(self, channel: Channel) -> SuppressReason:
        """Why the delivery on ``channel`` is not sent, if it is not."""
        return SuppressReason.DESTINATION_LIMIT if channel in self.channels else SuppressReason.NONE

    def of_intent(self, channels: Collection[Channel]) -> CancelReason | None:
        """Why nothing of a new intent on ``channels`` is sent; ``None`` if some of it is."""
        if self.account:
            return CancelReason.ACCOUNT_LIMIT
        return CancelReason.DESTINATION_LIMIT if self.channels.issuperset(channels) else None
