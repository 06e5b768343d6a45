"""What to do about an outcome, and whether to send at all: decisions as values. Pure."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from notifications.outcome import Outcome, OutcomeKind
from resetdelivery.domain.reasons import DeliveryReason
from resetdelivery.domain.retry import RetryPolicy, retry_delay_seconds, retry_fits, still_useful
from resetdelivery.domain.states import Authority, DeliveryState


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The step a settled delivery takes.

    ``due_at`` is set exactly when it goes back to PENDING. ``counts`` says whether the attempt
    uses up one of ``max_attempts``; ``pauses_channel`` that nothing of this channel can pass.
    """

    state: DeliveryState
    reason: str = ""
    due_at: dt.datetime | None = None
    counts: bool = True
    pauses_channel: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What is known about a delivery when its outcome comes in.

    ``attempts`` counts the attempts so far, this one included; ``ambiguous_attempts`` likewise.
    """

    attempts: int
    ambiguous_attempts: int
    expires_at: dt.datetime
    cancel_reason: str = ""


_FINAL_AT_ONCE = {
    OutcomeKind.ACCEPTED: DeliveryState.ACCEPTED,
    OutcomeKind.PERMANENT: DeliveryState.FAILED,
}


def decide(
    outcome: Outcome, submission: Submission, policy: RetryPolicy, *, now: dt.datetime, draw: float
) -> Decision:
    """The step after ``outcome``; ``draw`` is uniform in ``[0, 1)``."""
    if outcome.kind in _FINAL_AT_ONCE:
        return Decision(state=_FINAL_AT_ONCE[outcome.kind], reason=outcome.reason.value)
    if outcome.kind is OutcomeKind.MISCONFIGURED:
        return _hold(outcome, submission, policy, now)
    if submission.cancel_reason:
        return Decision(state=DeliveryState.CANCELLED, reason=submission.cancel_reason)
    return _retry(outcome, submission, policy, now, draw)


def within_claims(decision: Decision, *, claims: int, max_claims: int) -> Decision:
    """``decision``, or FAILED where it would return a row that has used up its claims.

    ``claims`` counts how often workers took the row, this time included. A decision that does
    not count gives this claim back and so never uses it up.
    """
    if decision.due_at is None or not decision.counts or claims < max_claims:
        return decision
    return Decision(state=DeliveryState.FAILED, reason=DeliveryReason.CLAIMS_USED_UP)


def _hold(outcome: Outcome, submission: Submission, policy: RetryPolicy, now: dt.datetime) -> Decision:
    """Nobody's fault but ours: the delivery waits, uncounted, for as long as it can help."""
    if submission.cancel_reason:
        return Decision(
            state=DeliveryState.CANCELLED,
            reason=submission.cancel_reason,
            counts=False,
            pauses_channel=True,
        )
    if not still_useful(policy, now=now, expires_at=submission.expires_at):
        return Decision(
            state=DeliveryState.EXPIRED, reason=outcome.reason.value, counts=False, pauses_channel=True
        )
    return Decision(
        state=DeliveryState.PENDING,
        reason=outcome.reason.value,
        due_at=now,
        counts=False,
        pauses_channel=True,
    )


def _retry(
    outcome: Outcome, submission: Submission, policy: RetryPolicy, now: dt.datetime, draw: float
) -> Decision:
    if submission.attempts >= policy.max_attempts:
        return Decision(state=DeliveryState.FAILED, reason=DeliveryReason.ATTEMPTS_USED_UP)
    if _resends_used_up(submission, policy):
        return Decision(state=DeliveryState.FAILED, reason=DeliveryReason.AMBIGUOUS_RESENDS_USED_UP)
    delay = retry_delay_seconds(policy, submission.attempts, draw, outcome.retry_after_seconds)
    if not retry_fits(policy, now=now, delay_seconds=delay, expires_at=submission.expires_at):
        return Decision(state=DeliveryState.EXPIRED, reason=DeliveryReason.RETRY_DOES_NOT_FIT)
    return Decision(
        state=DeliveryState.PENDING,
        reason=outcome.reason.value,
        due_at=now + dt.timedelta(seconds=delay),
    )


def _resends_used_up(submission: Submission, policy: RetryPolicy) -> bool:
    bound = policy.max_ambiguous_resends
    return bound is not None and submission.ambiguous_attempts > bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What the gate looks at, reloaded under the lease."""

    cancel_reason: str
    suppressed: str
    expires_at: dt.datetime
    authority: Authority
    account_known: bool
    account_usable: bool
    account_unchanged: bool
    has_destination: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The gate's refusal: the state the delivery ends in, and why.

    ``segments`` is the bucket of a text message's length, where it was rendered and may be told.
    """

    state: DeliveryState
    reason: str
    segments: str = ""


def judge(standing: Standing, policy: RetryPolicy, *, now: dt.datetime) -> Verdict | None:
    """Why this delivery must not be sent now, or ``None`` if it may."""
    if standing.cancel_reason:
        return Verdict(state=DeliveryState.CANCELLED, reason=standing.cancel_reason)
    if standing.suppressed:
        # FAILED, for another destination may be used still: a channel that waits for this one is armed.
        return Verdict(state=DeliveryState.FAILED, reason=standing.suppressed)
    if standing.authority is Authority.LEGACY:
        return Verdict(state=DeliveryState.WITHHELD, reason=DeliveryReason.SENT_BY_EXISTING_SENDER)
    if not still_useful(policy, now=now, expires_at=standing.expires_at):
        return Verdict(state=DeliveryState.EXPIRED, reason=DeliveryReason.NO_USEFUL_TIME_LEFT)
    return _judge_account(standing)


def _judge_account(standing: Standing) -> Verdict | None:
    if not standing.account_known:
        return Verdict(state=DeliveryState.CANCELLED, reason=DeliveryReason.UNKNOWN_ACCOUNT)
    # Changed before inactive: an account switched off since admission is a changed one.
    if not standing.account_unchanged:
        return Verdict(state=DeliveryState.CANCELLED, reason=DeliveryReason.ACCOUNT_CHANGED)
    if not standing.account_usable:
        return Verdict(state=DeliveryState.CANCELLED, reason=DeliveryReason.ACCOUNT_INACTIVE)
    if not standing.has_destination:
        return Verdict(state=DeliveryState.FAILED, reason=DeliveryReason.NO_DESTINATION)
    return None
