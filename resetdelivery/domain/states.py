"""The states of an intent and of a delivery, and every step between them, as data.

The database constraints, the test matrix and the diagram in ``docs/delivery-semantics.md``
are made from this table.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType


class IntentKind(enum.StrEnum):
    """What an intent's messages are about."""

    RESET = "reset"
    SECURITY_NOTICE = "security_notice"


class IntentState(enum.StrEnum):
    """Whether anything of an intent can still happen."""

    OPEN = "open"
    CLOSED = "closed"


class DeliveryState(enum.StrEnum):
    """Where one intent stands on one channel, and who moves it on."""

    #: A fallback channel, not needed yet. Armed, or cancelled as not needed, also when it lapses.
    WAITING = "waiting"
    #: Due at ``due_at``. Claimed, expired or cancelled.
    PENDING = "pending"
    #: A worker owns it and nothing was sent. Marked, judged by the gate, released, or swept.
    LEASED = "leased"
    #: The attempt is recorded and the provider may have it. Settled, or swept as ambiguous.
    SUBMITTING = "submitting"
    #: The provider took responsibility. Only a receipt moves it on.
    ACCEPTED = "accepted"
    #: A receipt says that it arrived. Final.
    DELIVERED = "delivered"
    #: Refused for good, or attempts or claims used up, or no usable destination. Final.
    FAILED = "failed"
    #: Not enough useful lifetime was left. Final.
    EXPIRED = "expired"
    #: Superseded, withdrawn, account changed or unknown, or not needed. Final.
    CANCELLED = "cancelled"
    #: Its authority is ``legacy``: the existing sender sends it. Final.
    WITHHELD = "withheld"
    #: Its authority is ``shadow``: everything ran but the send. Final.
    SHADOWED = "shadowed"


class Authority(enum.StrEnum):
    """Who sends a delivery; written at admission, never changed."""

    PIPELINE = "pipeline"
    SHADOW = "shadow"
    LEGACY = "legacy"


class Strategy(enum.StrEnum):
    """How an intent uses its channels."""

    ALL = "all"
    FALLBACK = "fallback"


_S = DeliveryState

#: From each state, the states that one step may reach.
TRANSITIONS: Mapping[DeliveryState, frozenset[DeliveryState]] = MappingProxyType(
    {
        _S.WAITING: frozenset({_S.PENDING, _S.CANCELLED}),
        _S.PENDING: frozenset({_S.LEASED, _S.EXPIRED, _S.CANCELLED, _S.DELIVERED}),
        _S.LEASED: frozenset(
            {
                _S.SUBMITTING,
                _S.PENDING,
                _S.CANCELLED,
                _S.EXPIRED,
                _S.FAILED,
                _S.WITHHELD,
                _S.SHADOWED,
                _S.DELIVERED,
            }
        ),
        _S.SUBMITTING: frozenset(
            {_S.ACCEPTED, _S.PENDING, _S.FAILED, _S.EXPIRED, _S.CANCELLED, _S.DELIVERED}
        ),
        _S.ACCEPTED: frozenset({_S.DELIVERED, _S.FAILED}),
        _S.DELIVERED: frozenset(),
        _S.FAILED: frozenset(),
        _S.EXPIRED: frozenset(),
        _S.CANCELLED: frozenset(),
        _S.WITHHELD: frozenset(),
        _S.SHADOWED: frozenset(),
    }
)

#: An intent is open while a delivery of it is in one of these.
OPEN_STATES = frozenset({_S.WAITING, _S.PENDING, _S.LEASED, _S.SUBMITTING})
#: Nothing of ours works on these any more; ``finished_at`` is set.
FINISHED_STATES = frozenset(_S) - OPEN_STATES
#: A worker holds a lease.
HELD_STATES = frozenset({_S.LEASED, _S.SUBMITTING})
#: No worker holds it: cancelling and expiring may take it directly.
IDLE_STATES = frozenset({_S.WAITING, _S.PENDING})


def may_move(before: DeliveryState, after: DeliveryState) -> bool:
    """Whether one step leads from ``before`` to ``after``."""
    return after in TRANSITIONS[before]


def is_final(state: DeliveryState) -> bool:
    """Whether nothing, not even a receipt, moves a delivery out of ``state``."""
    return not TRANSITIONS[state]
