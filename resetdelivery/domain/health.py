"""How delivery is doing: the numbers that say so, and the words for what is wrong. Pure."""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from notifications.channels import Channel
from notifications.outcome import OutcomeKind
from resetdelivery.domain.reasons import PauseReason

#: How far back the numbers of what happened may reach.
WINDOWS: Mapping[str, dt.timedelta] = MappingProxyType(
    {
        "1m": dt.timedelta(minutes=1),
        "5m": dt.timedelta(minutes=5),
        "15m": dt.timedelta(minutes=15),
        "1h": dt.timedelta(hours=1),
    }
)


class Verdict(enum.StrEnum):
    """From good to bad; a monitoring plugin exits with 0, 1 and 2."""

    OK = "ok"
    DEGRADED = "degraded"
    FAILING = "failing"


class HealthReason(enum.StrEnum):
    """Why a verdict is not ``ok``. What on-call does about each stands in ``docs/health.md``."""

    # Of the installation as a whole.
    DATABASE_AWAY = "database_away"
    BROKER_AWAY = "broker_away"
    RECOVERY_OFF = "recovery_off"
    RECOVERY_OBSERVES = "recovery_observes"
    SWEEP_LATE = "sweep_late"
    SWEEP_MISSING = "sweep_missing"
    COUNTS_STALE = "counts_stale"
    # Of one channel.
    PAUSED_BY_OPERATOR = "paused_by_operator"
    PAUSED_MISCONFIGURED = "paused_misconfigured"
    DUE_LATE = "due_late"
    DUE_TOO_LATE = "due_too_late"
    EXPIRING = "expiring"
    EXPIRING_MANY = "expiring_many"
    ACCEPTED_LATE = "accepted_late"
    FEW_ACCEPTED = "few_accepted"
    NONE_ACCEPTED = "none_accepted"
    AMBIGUOUS = "ambiguous"
    LEASES_LOST = "leases_lost"


#: Reasons for ``failing``; all others are for ``degraded``.
FAILING = frozenset(
    {
        HealthReason.DATABASE_AWAY,
        HealthReason.SWEEP_MISSING,
        HealthReason.PAUSED_MISCONFIGURED,
        HealthReason.DUE_TOO_LATE,
        HealthReason.EXPIRING_MANY,
        HealthReason.NONE_ACCEPTED,
    }
)

MEANINGS: Mapping[HealthReason, str] = MappingProxyType(
    {
        HealthReason.DATABASE_AWAY: "The database does not answer, or not in time.",
        HealthReason.BROKER_AWAY: "The broker does not answer; polling and the sweep fill in, more slowly.",
        HealthReason.RECOVERY_OFF: "RECOVERY is 'off': what a dead worker held is lost.",
        HealthReason.RECOVERY_OBSERVES: "RECOVERY is 'observe': what a dead worker held is counted and lost.",
        HealthReason.SWEEP_LATE: "The sweep has missed its turn.",
        HealthReason.SWEEP_MISSING: "The sweep has never run, or not for a quarter of a useful life.",
        HealthReason.COUNTS_STALE: "Minutes are not counted, or not closed: numbers are old, or rows stay.",
        HealthReason.PAUSED_BY_OPERATOR: "Somebody paused the channel.",
        HealthReason.PAUSED_MISCONFIGURED: "A provider refuses our account or configuration.",
        HealthReason.DUE_LATE: "A delivery has been due for longer than a worker's death explains.",
        HealthReason.DUE_TOO_LATE: "A delivery has been due for a quarter of a useful life.",
        HealthReason.EXPIRING: "Deliveries expire before they are sent.",
        HealthReason.EXPIRING_MANY: "A fifth of all deliveries, or more, expire before they are sent.",
        HealthReason.ACCEPTED_LATE: "Messages are accepted with a quarter of their life left, or less.",
        HealthReason.FEW_ACCEPTED: "Half of all attempts, or more, are not accepted.",
        HealthReason.NONE_ACCEPTED: "No attempt is accepted.",
        HealthReason.AMBIGUOUS: "Of many attempts nobody knows whether the provider took them.",
        HealthReason.LEASES_LOST: "Workers die, or take longer than their lease.",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueDelay:
    """How long attempts had been due as they started; ``None`` for a percentile that nobody knows.

    That is so without attempts, and where it lies among the ``beyond`` attempts above the last bound
    of :data:`~resetdelivery.domain.telemetry.QUEUE_DELAY_SECONDS`.
    """

    p50_seconds: float | None = None
    p95_seconds: float | None = None
    p99_seconds: float | None = None
    beyond: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LifeLeft:
    """Shares of deliveries' lives that were left as they were accepted.

    ``quarter_or_less`` is how many were accepted with no more than a quarter left.
    """

    median: float | None = None
    quarter_or_less: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelNumbers:
    """One channel: its open deliveries by state now, and what happened within the window.

    ``oldest_due_seconds`` is how long the delivery of ours that has waited longest has been due;
    ``None`` where none is due. ``oldest_shadow_seconds`` is the same of those that another sender
    sends; of the other numbers only those of open deliveries hold shadows as well. ``pause_reason``
    stays while a channel that paused itself is probed. ``finished`` counts deliveries on which our
    own work ended, ``expired_usefully`` those of ours that had too little life left.
    """

    channel: Channel
    mode: str = "live"
    paused: bool = False
    pause_reason: PauseReason = PauseReason.NONE
    waiting: int = 0
    pending: int = 0
    leased: int = 0
    submitting: int = 0
    oldest_due_seconds: float | None = None
    oldest_shadow_seconds: float | None = None
    admitted: int = 0
    finished: int = 0
    expired_usefully: int = 0
    lease_recoveries: int = 0
    attempts: Mapping[OutcomeKind, int]
    queue_delay: QueueDelay = QueueDelay()
    life_left_at_acceptance: LifeLeft = LifeLeft()

    @property
    def attempts_made(self) -> int:
        """Attempts of all outcomes."""
        return sum(self.attempts.values())

    @property
    def accepted(self) -> int:
        """Attempts for which the provider took responsibility."""
        return self.attempts.get(OutcomeKind.ACCEPTED, 0)
