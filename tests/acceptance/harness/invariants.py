"""What holds after every fault (the invariants I1 to I5 of the design)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence

from notifications.channels import Channel
from notifications.outcome import OutcomeKind
from notifications.testing.provider import Submission
from resetdelivery.conf import get_settings
from resetdelivery.domain.states import FINISHED_STATES, HELD_STATES, OPEN_STATES, DeliveryState, IntentState
from resetdelivery.models import Attempt, Delivery, ResetIntent
from tests.acceptance.harness.configuration import (
    LEASE_SECONDS,
    MAX_ATTEMPTS,
    MAX_CLAIMS,
    SEND_BUDGET_SECONDS,
    SWEEP_SECONDS,
)
from tests.acceptance.harness.copies import copies_of, link_of, text_of

GRACE = dt.timedelta(seconds=LEASE_SECONDS + SEND_BUDGET_SECONDS + SWEEP_SECONDS)

FinalRows = Mapping[int, Mapping[str, object]]


def assert_invariants(submissions: Sequence[Submission]) -> None:
    """Every invariant of every delivery, once all of them are finished."""
    deliveries = list(Delivery.objects.select_related("intent"))
    assert deliveries, "There is nothing to look at."
    for delivery in deliveries:
        attempts = list(delivery.attempt_rows.order_by("number"))
        copies = copies_of(delivery, submissions)
        _assert_it_ended_in_time(delivery)
        _assert_no_copy_without_a_reason(delivery, attempts, copies)
        _assert_copies_are_alike(delivery, copies)
        _assert_nothing_after_expiry(delivery, attempts, copies)
        _assert_counts_stay_bounded(delivery, attempts)
        _assert_the_end_is_what_was_seen(delivery, attempts, copies)
    known = {copy.id for delivery in deliveries for copy in copies_of(delivery, submissions)}
    assert known == {one.id for one in submissions}, "No delivery accounts for a message that was sent."
    assert not ResetIntent.objects.exclude(state=IntentState.CLOSED).exists()


def _assert_it_ended_in_time(delivery: Delivery) -> None:
    assert delivery.state in FINISHED_STATES
    assert delivery.finished_at is not None
    assert delivery.finished_at <= delivery.expires_at + GRACE


def _assert_no_copy_without_a_reason(
    delivery: Delivery, attempts: Sequence[Attempt], copies: Sequence[Submission]
) -> None:
    ambiguous = sum(attempt.outcome == OutcomeKind.AMBIGUOUS for attempt in attempts)
    assert len(copies) <= 1 + ambiguous
    bound = get_settings().channel(Channel(delivery.channel)).max_ambiguous_resends
    assert bound is None or len(copies) <= 1 + bound


def _assert_copies_are_alike(delivery: Delivery, copies: Sequence[Submission]) -> None:
    assert all(link_of(delivery) in text_of(copy) for copy in copies)
    # An SMS's form also holds what is left of its lifetime.
    alike = {copy.body if copy.channel == Channel.EMAIL else copy.key.encode() for copy in copies}
    assert len(alike) <= 1


def _assert_nothing_after_expiry(
    delivery: Delivery, attempts: Sequence[Attempt], copies: Sequence[Submission]
) -> None:
    assert all(attempt.started_at < delivery.expires_at for attempt in attempts)
    assert all(copy.received_at <= delivery.expires_at.timestamp() for copy in copies)


def _assert_counts_stay_bounded(delivery: Delivery, attempts: Sequence[Attempt]) -> None:
    # Configuration errors never count, and "not now" does not while its provider is known to be out.
    always = [a for a in attempts if a.outcome not in {OutcomeKind.MISCONFIGURED, OutcomeKind.TRANSIENT}]
    perhaps = [a for a in attempts if a.outcome != OutcomeKind.MISCONFIGURED]
    assert len(always) <= delivery.attempts <= len(perhaps)
    assert delivery.attempts <= MAX_ATTEMPTS
    assert delivery.attempts <= delivery.claims <= MAX_CLAIMS
    assert [attempt.number for attempt in attempts] == list(range(1, len(attempts) + 1))
    tokens = [attempt.token for attempt in attempts]
    assert tokens == sorted(set(tokens)), "A later attempt holds no higher token."
    assert all(token <= delivery.lease_token for token in tokens)


def _assert_the_end_is_what_was_seen(
    delivery: Delivery, attempts: Sequence[Attempt], copies: Sequence[Submission]
) -> None:
    assert all(attempt.outcome for attempt in attempts), "An attempt never ended."
    if delivery.state == DeliveryState.ACCEPTED:
        assert copies
        assert attempts[-1].outcome == OutcomeKind.ACCEPTED
    if delivery.state == DeliveryState.FAILED and attempts:
        assert attempts[-1].outcome != OutcomeKind.ACCEPTED or attempts[-1].receipt == "failed"


def assert_open_rows_move_on() -> None:
    """Whatever just happened: each open row is due some time, or its lease runs out (I5)."""
    for delivery in Delivery.objects.filter(state__in=OPEN_STATES):
        assert delivery.due_at <= delivery.expires_at
        assert (delivery.lease_expires_at is not None) == (delivery.state in HELD_STATES)
        assert delivery.state != DeliveryState.WAITING or delivery.arm_at is not None
        if delivery.state == DeliveryState.SUBMITTING:
            assert delivery.attempt_rows.filter(outcome="", token=delivery.lease_token).count() == 1


def final_rows() -> FinalRows:
    """Every finished delivery, to compare with later."""
    rows = Delivery.objects.filter(state__in=FINISHED_STATES).values()
    return {row["id"]: row for row in rows}


def assert_final_rows_kept(before: FinalRows) -> None:
    """No finished delivery changed since ``before`` (I4)."""
    now = final_rows()
    assert {row_id: now.get(row_id) for row_id in before} == before
