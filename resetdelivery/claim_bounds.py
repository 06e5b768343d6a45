"""How much a worker outside this project may ask for at once, and for how long."""

from __future__ import annotations

from collections.abc import Sequence

from notifications.channels import Channel
from resetdelivery.conf import Settings
from resetdelivery.domain.lease import longest_lease_seconds, shortest_lease_seconds
from resetdelivery.exceptions import ResetDeliveryError


class InvalidClaim(ResetDeliveryError, ValueError):
    """What a worker asks for is out of bounds; ``part`` says which argument."""

    def __init__(self, part: str, text: str) -> None:
        super().__init__(text)
        self.part = part


def wanted_channels(settings: Settings, name: str | None) -> Sequence[Channel]:
    """The channel of that name, or every configured one; :class:`InvalidClaim` for any other name."""
    if name is None:
        return list(settings.channels)
    for channel in settings.channels:
        if channel.value == name:
            return [channel]
    listed = ", ".join(channel.value for channel in settings.channels)
    raise InvalidClaim("channel", f"This channel ({len(name)} characters) is not configured; use {listed}.")


def check_limit(settings: Settings, limit: int) -> None:
    """:class:`InvalidClaim` for a number of deliveries that is not 1 to ``CLAIM_LIMIT``."""
    if not 1 <= limit <= settings.claim_limit:
        raise InvalidClaim("limit", f"A limit of {limit} is out of bounds; use 1 to {settings.claim_limit}.")


def check_lease(settings: Settings, channels: Sequence[Channel], lease_seconds: float) -> None:
    """:class:`InvalidClaim` for a lease too short for a send on one of ``channels``, or too long."""
    margin = settings.lease_margin.total_seconds()
    least = max(shortest_lease_seconds(send_budget_seconds(settings, one), margin) for one in channels)
    most = longest_lease_seconds(settings.lease.total_seconds(), least)
    if not least <= lease_seconds <= most:
        raise InvalidClaim(
            "lease_seconds",
            f"A lease of {lease_seconds:g} s is out of bounds. It takes at least {least:g} s, one send and "
            f"its bookkeeping, and at most {most:g} s.",
        )


def send_budget_seconds(settings: Settings, channel: Channel) -> float:
    """How long one submission on ``channel`` may take."""
    return settings.channel(channel).send_budget.total_seconds()
