"""When a channel that waits for another one is used, and when it is not needed. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from resetdelivery.domain.reasons import ArmReason, DeliveryReason
from resetdelivery.domain.states import Authority, DeliveryState


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """The delivery that another one waits for.

    ``paused``: its channel sends nothing now. ``gives_receipts``: its provider says later what
    arrived, so that acceptance alone is not the last word.
    """

    state: DeliveryState
    reason: str = ""
    authority: Authority = Authority.PIPELINE
    paused: bool = False
    gives_receipts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Follow:
    """What the later delivery does: PENDING for an :class:`ArmReason`, or CANCELLED for a reason."""

    state: DeliveryState
    reason: str


NOT_NEEDED = Follow(state=DeliveryState.CANCELLED, reason=DeliveryReason.NOT_NEEDED)


def is_enough(before: Before) -> bool:
    """Whether the message arrived, as far as this channel can ever tell."""
    if before.state is DeliveryState.ACCEPTED:
        return not before.gives_receipts
    return before.state is DeliveryState.DELIVERED


def follow(before: Before, *, due: bool, fits: bool) -> Follow | None:
    """The step of a WAITING delivery behind ``before``, or ``None`` if it goes on waiting.

    ``due``: its arm time has come. ``fits``: armed now, it could still be of use.
    """
    if is_enough(before) or _is_anothers(before):
        return NOT_NEEDED
    if before.state is DeliveryState.CANCELLED:
        # The account is gone or changed: what ended that one would end this one.
        return Follow(state=DeliveryState.CANCELLED, reason=before.reason)
    because = _arm_reason(before, due=due)
    if because is ArmReason.NONE:
        return None
    return Follow(state=DeliveryState.PENDING, reason=because) if fits else NOT_NEEDED


def _is_anothers(before: Before) -> bool:
    """Whether the existing sender sends it: then it decides about other channels, too."""
    return before.authority is not Authority.PIPELINE


_BY_STATE = {
    DeliveryState.FAILED: ArmReason.FAILED,
    DeliveryState.EXPIRED: ArmReason.EXPIRED,
}
_UNSENT = frozenset({DeliveryState.PENDING, DeliveryState.LEASED})


def _arm_reason(before: Before, *, due: bool) -> ArmReason:
    if before.state in _BY_STATE:
        return _BY_STATE[before.state]
    if before.state is DeliveryState.WAITING:
        return ArmReason.NONE
    if before.paused and before.state in _UNSENT:
        return ArmReason.PAUSED
    return ArmReason.UNCONFIRMED if due else ArmReason.NONE
