"""One closed intent as its trace sees it: times, outcomes and reasons, and nobody's data."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import dataclass

from notifications.outcome import OutcomeKind, Reason
from resetdelivery.domain.reasons import DeliveryReason
from resetdelivery.domain.states import DeliveryState

#: A limit kept it from being sent, at admission or later.
_OVER_A_LIMIT = frozenset(
    {
        DeliveryReason.ACCOUNT_LIMIT,
        DeliveryReason.DESTINATION_LIMIT,
        DeliveryReason.SMS_PREFIX_LIMIT,
        DeliveryReason.SMS_BUDGET_SPENT,
    }
)
_ACCOUNT_CHANGED = frozenset({DeliveryReason.ACCOUNT_CHANGED, DeliveryReason.ACCOUNT_INACTIVE})
#: The provider took it, or it was never ours to send.
_AS_MEANT = frozenset(
    {DeliveryState.ACCEPTED, DeliveryState.DELIVERED, DeliveryState.WITHHELD, DeliveryState.SHADOWED}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedAttempt:
    """One try; ``claimed_at`` is missing where a worker of an older release made it."""

    number: int
    outcome: str
    reason: str
    started_at: dt.datetime
    finished_at: dt.datetime | None
    queue_delay_seconds: float
    remaining_seconds: float
    claimed_at: dt.datetime | None = None
    duration_seconds: float | None = None
    late_outcome: str = ""
    receipt: str = ""
    receipt_reason: str = ""
    receipt_at: dt.datetime | None = None

    @property
    def due_at(self) -> dt.datetime:
        """When it was due; never after it was taken."""
        return min(self.started_at - dt.timedelta(seconds=self.queue_delay_seconds), self.taken_at)

    @property
    def taken_at(self) -> dt.datetime:
        """When its claim was made."""
        return min(self.claimed_at or self.started_at, self.started_at)

    @property
    def answered_at(self) -> dt.datetime:
        """When the provider's answer was there, or when we stopped to wait for one."""
        if self.duration_seconds is not None:
            return self.started_at + dt.timedelta(seconds=self.duration_seconds)
        return self.settled_at

    @property
    def settled_at(self) -> dt.datetime:
        """When its outcome was written down."""
        return max(self.finished_at or self.started_at, self.started_at)

    @property
    def is_lost(self) -> bool:
        """Whether the sweep found it, as nobody had come back from it."""
        return self.reason == Reason.LOST

    @property
    def is_late(self) -> bool:
        """Whether its deadline passed, or its worker came back after it was taken for lost."""
        return self.outcome == OutcomeKind.LATE or bool(self.late_outcome)

    @property
    def is_ambiguous(self) -> bool:
        """Whether the provider may have it without our knowing."""
        return self.outcome == OutcomeKind.AMBIGUOUS


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedDelivery:
    """One channel of the intent, at its end; ``attempts_counted`` leaves out those given back.

    ``suppressed`` names the limit that was used up at admission.
    """

    channel: str
    authority: str
    state: str
    reason: str
    claims: int
    attempts_counted: int
    due_at: dt.datetime
    finished_at: dt.datetime
    segments_bucket: str = ""
    suppressed: str = ""
    attempts: tuple[TracedAttempt, ...] = ()

    @property
    def waited_in_vain(self) -> bool:
        """Whether it ended while it was due once more, and not by an attempt."""
        return not self.attempts or self.due_at > self.attempts[-1].started_at

    @property
    def is_as_meant(self) -> bool:
        """Whether it was sent, or need not be."""
        not_needed = self.state == DeliveryState.CANCELLED and self.reason == DeliveryReason.NOT_NEEDED
        return self.state in _AS_MEANT or not_needed

    @property
    def is_suppressed(self) -> bool:
        """Whether a limit kept it from being sent."""
        return bool(self.suppressed) or self.reason in _OVER_A_LIMIT

    @property
    def is_account_changed(self) -> bool:
        """Whether the account was another one by the time it was to be sent."""
        return self.reason in _ACCOUNT_CHANGED

    @property
    def is_recovered(self) -> bool:
        """Whether a lease of it ran out.

        Each claim leads to an attempt that counts, to an end at the gate, or to nothing: then the
        sweep took it back. Of what ended without an attempt, one claim may have ended at the gate.
        """
        accounted_for = self.attempts_counted + int(self.waited_in_vain)
        return self.claims > accounted_for or any(one.is_lost for one in self.attempts)


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedIntent:
    """One closed intent. ``trace_parent_span`` is the caller's own span, if there was one."""

    reference: uuid.UUID
    traceparent: str
    kind: str
    strategy: str
    template_version: str
    created_at: dt.datetime
    admission_seconds: float | None
    deliveries: tuple[TracedDelivery, ...]
    trace_parent_span: str = ""
    cancel_reason: str = ""

    @property
    def attempts(self) -> tuple[TracedAttempt, ...]:
        """Those of all its channels."""
        return tuple(attempt for delivery in self.deliveries for attempt in delivery.attempts)
