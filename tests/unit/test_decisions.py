from __future__ import annotations

import datetime as dt
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notifications.outcome import Outcome, OutcomeKind, Reason
from resetdelivery.domain.decisions import (
    Decision,
    Standing,
    Submission,
    Verdict,
    decide,
    judge,
    within_claims,
)
from resetdelivery.domain.retry import RetryPolicy
from resetdelivery.domain.states import Authority, DeliveryState, may_move

K, S = OutcomeKind, DeliveryState
NOW = dt.datetime(2026, 11, 1, 5, 30, tzinfo=dt.UTC)
POLICY = RetryPolicy(base_seconds=8, factor=2, cap_seconds=60, max_attempts=3)
#: POLICY's own needs: a second in the queue, two on the way, thirty for the reader.
NEEDED = 33.0


def submission(
    *, life: float = 600, attempts: int = 1, ambiguous: int = 0, cancel_reason: str = ""
) -> Submission:
    return Submission(
        attempts=attempts,
        ambiguous_attempts=ambiguous,
        expires_at=NOW + dt.timedelta(seconds=life),
        cancel_reason=cancel_reason,
    )


def decided(
    kind: OutcomeKind,
    of: Submission,
    *,
    policy: RetryPolicy = POLICY,
    draw: float = 0.5,
    retry_after: float | None = None,
) -> Decision:
    outcome = Outcome(kind=kind, reason=Reason.PROVIDER_BUSY, retry_after_seconds=retry_after)
    return decide(outcome, of, policy, now=NOW, draw=draw)


RETRYABLE = [K.TRANSIENT, K.THROTTLED, K.AMBIGUOUS, K.LATE]


@pytest.mark.parametrize(
    ("kind", "of", "state", "reason"),
    [
        (K.ACCEPTED, submission(), S.ACCEPTED, "provider_busy"),
        (K.ACCEPTED, submission(life=-5), S.ACCEPTED, "provider_busy"),  # what happened, happened
        (K.ACCEPTED, submission(cancel_reason="superseded"), S.ACCEPTED, "provider_busy"),
        (K.PERMANENT, submission(), S.FAILED, "provider_busy"),
        (K.PERMANENT, submission(cancel_reason="withdrawn"), S.FAILED, "provider_busy"),
        *[(kind, submission(), S.PENDING, "provider_busy") for kind in RETRYABLE],
        *[(kind, submission(attempts=3), S.FAILED, "attempts_used_up") for kind in RETRYABLE],
        *[(kind, submission(life=30), S.EXPIRED, "retry_does_not_fit") for kind in RETRYABLE],
        *[(kind, submission(cancel_reason="superseded"), S.CANCELLED, "superseded") for kind in RETRYABLE],
        (K.MISCONFIGURED, submission(), S.PENDING, "provider_busy"),
        (K.MISCONFIGURED, submission(attempts=99), S.PENDING, "provider_busy"),  # counts as no attempt
        (K.MISCONFIGURED, submission(life=31), S.EXPIRED, "provider_busy"),
        (K.MISCONFIGURED, submission(cancel_reason="withdrawn"), S.CANCELLED, "withdrawn"),
    ],
)
def test_an_outcome_leads_to_its_step(
    kind: OutcomeKind, of: Submission, state: DeliveryState, reason: str
) -> None:
    decision = decided(kind, of)
    assert (decision.state, decision.reason) == (state, reason)


@pytest.mark.parametrize("kind", RETRYABLE)
def test_the_drawn_delay_and_not_the_longest_one_decides_whether_a_retry_fits(kind: OutcomeKind) -> None:
    tight = submission(life=NEEDED + 4)  # of the eight seconds, half fit
    assert decided(kind, tight, draw=0.5).due_at == NOW + dt.timedelta(seconds=4)
    assert decided(kind, tight, draw=0.501).state is S.EXPIRED


def test_a_providers_delay_that_does_not_fit_expires_the_delivery() -> None:
    assert decided(K.THROTTLED, submission(life=NEEDED + 60), retry_after=60).state is S.PENDING
    assert decided(K.THROTTLED, submission(life=NEEDED + 60), retry_after=60.001).state is S.EXPIRED


@pytest.mark.parametrize(
    ("bound", "ambiguous", "state"),
    [(None, 2, S.PENDING), (1, 1, S.PENDING), (1, 2, S.FAILED), (0, 1, S.FAILED), (0, 0, S.PENDING)],
)
def test_ambiguous_attempts_are_resent_as_often_as_the_channel_bears(
    bound: int | None, ambiguous: int, state: DeliveryState
) -> None:
    policy = RetryPolicy(max_ambiguous_resends=bound)
    decision = decided(K.AMBIGUOUS, submission(ambiguous=ambiguous), policy=policy)
    reasons = {S.PENDING: "provider_busy", S.FAILED: "ambiguous_resends_used_up"}
    assert (decision.state, decision.reason) == (state, reasons[state])


@pytest.mark.parametrize("kind", list(K))
def test_only_a_configuration_error_pauses_the_channel_and_counts_as_no_attempt(kind: OutcomeKind) -> None:
    decision = decided(kind, submission())
    assert decision.pauses_channel is (kind is K.MISCONFIGURED)
    assert decision.counts is (kind is not K.MISCONFIGURED)


outcomes = st.builds(
    Outcome,
    kind=st.sampled_from(list(K)),
    reason=st.sampled_from(list(Reason)),
    retry_after_seconds=st.none() | st.floats(-10, 1e6),
)
submissions = st.builds(
    submission,
    life=st.floats(-100, 1000),
    attempts=st.integers(1, 10),
    ambiguous=st.integers(0, 10),
    cancel_reason=st.sampled_from(["", "superseded", "withdrawn"]),
)
policies = st.builds(
    RetryPolicy,
    max_attempts=st.integers(1, 6),
    max_ambiguous_resends=st.none() | st.integers(0, 3),
    min_useful_seconds=st.floats(0, 60),
)
draws = st.floats(0, 1, exclude_max=True)


@given(outcome=outcomes, of=submissions, policy=policies, draw=draws)
def test_every_decision_is_a_step_of_the_table(
    outcome: Outcome, of: Submission, policy: RetryPolicy, draw: float
) -> None:
    decision = decide(outcome, of, policy, now=NOW, draw=draw)
    assert may_move(S.SUBMITTING, decision.state)
    assert (decision.due_at is not None) is (decision.state is S.PENDING)


@given(outcome=outcomes, of=submissions, policy=policies, draw=draws)
def test_what_goes_back_can_still_help_when_it_is_due(
    outcome: Outcome, of: Submission, policy: RetryPolicy, draw: float
) -> None:
    decision = decide(outcome, of, policy, now=NOW, draw=draw)
    if decision.due_at is not None:
        assert decision.due_at >= NOW
        left = (of.expires_at - decision.due_at).total_seconds()
        assert left >= policy.useful_floor_seconds - 1e-6


@given(outcome=outcomes, of=submissions, policy=policies, draw=draws)
def test_a_cancelled_delivery_never_goes_back(
    outcome: Outcome, of: Submission, policy: RetryPolicy, draw: float
) -> None:
    decision = decide(outcome, of, policy, now=NOW, draw=draw)
    assert not (of.cancel_reason and decision.state is S.PENDING)


@given(outcome=outcomes, of=submissions, policy=policies, draw=draws)
def test_nothing_that_counts_goes_back_with_its_attempts_used_up(
    outcome: Outcome, of: Submission, policy: RetryPolicy, draw: float
) -> None:
    decision = decide(outcome, of, policy, now=NOW, draw=draw)
    goes_back = decision.state is S.PENDING and decision.counts
    assert not (goes_back and of.attempts >= policy.max_attempts)


RETURNED = Decision(state=S.PENDING, reason="lease_ran_out", due_at=NOW)


@pytest.mark.parametrize(
    ("decision", "claims", "kept"),
    [
        (RETURNED, 9, True),
        (RETURNED, 10, False),
        (RETURNED, 11, False),
        (Decision(state=S.PENDING, due_at=NOW, counts=False), 10, True),  # gives its claim back
        (Decision(state=S.ACCEPTED), 99, True),
        (Decision(state=S.EXPIRED), 99, True),
    ],
)
def test_a_row_that_used_up_its_claims_is_not_returned_again(
    decision: Decision, claims: int, kept: bool
) -> None:
    failed = Decision(state=S.FAILED, reason="claims_used_up")
    assert within_claims(decision, claims=claims, max_claims=10) == (decision if kept else failed)


def standing(**changes: object) -> Standing:
    values: dict[str, object] = {
        "cancel_reason": "",
        "suppressed": "",
        "expires_at": NOW + dt.timedelta(seconds=600),
        "authority": Authority.PIPELINE,
        "account_known": True,
        "account_usable": True,
        "account_unchanged": True,
        "has_destination": True,
    }
    return Standing(**{**values, **changes})  # type: ignore[arg-type]


USEFUL = NOW + dt.timedelta(seconds=POLICY.useful_floor_seconds)


@pytest.mark.parametrize(
    ("changes", "state", "reason"),
    [
        ({"cancel_reason": "superseded"}, S.CANCELLED, "superseded"),
        ({"cancel_reason": "account_limit", "suppressed": "destination_limit"}, S.CANCELLED, "account_limit"),
        ({"suppressed": "destination_limit"}, S.FAILED, "destination_limit"),
        ({"suppressed": "destination_limit", "authority": Authority.LEGACY}, S.FAILED, "destination_limit"),
        ({"authority": Authority.LEGACY}, S.WITHHELD, "sent_by_existing_sender"),
        ({"expires_at": USEFUL - dt.timedelta(milliseconds=1)}, S.EXPIRED, "no_useful_time_left"),
        ({"account_known": False, "account_unchanged": False}, S.CANCELLED, "unknown_account"),
        ({"account_unchanged": False}, S.CANCELLED, "account_changed"),
        ({"account_unchanged": False, "account_usable": False}, S.CANCELLED, "account_changed"),
        ({"account_usable": False}, S.CANCELLED, "account_inactive"),
        ({"has_destination": False}, S.FAILED, "no_destination"),
    ],
)
def test_the_gate_refuses(changes: dict[str, object], state: DeliveryState, reason: str) -> None:
    assert judge(standing(**changes), POLICY, now=NOW) == Verdict(state=state, reason=reason)


@pytest.mark.parametrize(
    "changes", [{}, {"authority": Authority.SHADOW}, {"expires_at": USEFUL}], ids=["plain", "shadow", "floor"]
)
def test_the_gate_lets_through(changes: dict[str, object]) -> None:
    assert judge(standing(**changes), POLICY, now=NOW) is None


@pytest.mark.parametrize(
    ("flags", "authority", "cancel_reason"),
    list(
        itertools.product(
            itertools.product([True, False], repeat=4),
            [Authority.PIPELINE, Authority.LEGACY],
            ["", "withdrawn"],
        )
    ),
)
def test_every_verdict_is_a_step_out_of_a_lease(
    flags: tuple[bool, ...], authority: Authority, cancel_reason: str
) -> None:
    names = ("account_known", "account_usable", "account_unchanged", "has_destination")
    of = standing(**dict(zip(names, flags, strict=True)), authority=authority, cancel_reason=cancel_reason)
    verdict = judge(of, POLICY, now=NOW)
    sendable = all(flags) and authority is Authority.PIPELINE and not cancel_reason
    assert (verdict is None) is sendable
    assert verdict is None or may_move(S.LEASED, verdict.state)
