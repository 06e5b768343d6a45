"""A share as a bar, with a mark where it begins to be too much. Pure: positions are per cent."""

from __future__ import annotations

from dataclasses import dataclass

from resetdelivery.cutover.status import ChannelStatus
from resetdelivery.domain.rollout import EVERYBODY, MOST_WAITED, ChannelMode


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """How long the bar is, where its mark stands (``None`` for none), and what both say."""

    width: str
    mark: str | None
    text: str
    too_much: bool = False


def slice_bar(status: ChannelStatus) -> Bar:
    """Of how many accounts we send."""
    live = status.position.mode == ChannelMode.LIVE
    ours = status.position.slice_per_mille if live else 0
    return Bar(
        width=_percent(ours / EVERYBODY), mark=None, text=f"we send for {ours} of {EVERYBODY} accounts"
    )


def age_bar(status: ChannelStatus) -> Bar:
    """How long the oldest delivery has been due, of the life that the shortest-lived reset has."""
    age, life = status.oldest_due_seconds or 0.0, status.lifetime_seconds
    share = age / life if life else 0.0
    return Bar(
        width=_percent(share),
        mark=_percent(MOST_WAITED),
        text=f"{age:.1f} s of {life:g} s; a step forward asks for {MOST_WAITED * life:g} s or less",
        too_much=share > MOST_WAITED,
    )


def _percent(share: float) -> str:
    return f"{100 * min(max(share, 0.0), 1.0):.2f}%"
