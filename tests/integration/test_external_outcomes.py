from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from notifications.channels import Channel
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.testing import ScriptedTransport
from resetdelivery.delivery import deliver
from resetdelivery.domain.states import DeliveryState
from resetdelivery.external import StaleLease
from resetdelivery.models import Attempt, Delivery
from resetdelivery.recovery import sweep
from tests.conftest import age, the_delivery
from tests.integration.external_steps import (
    LEASE,
    held,
    marked,
    report,
    reset_for,
)
from tests.steps import ACCEPTED, BUSY, CUT, REFUSED

pytestmark = pytest.mark.django_db

S = DeliveryState


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (ACCEPTED, S.ACCEPTED),
        (REFUSED, S.FAILED),
        (BUSY, S.PENDING),
        (CUT, S.PENDING),
        (Outcome(kind=OutcomeKind.LATE, reason=Reason.DEADLINE_PASSED), S.PENDING),
        (Outcome(kind=OutcomeKind.THROTTLED, reason=Reason.RATE_LIMITED), S.PENDING),
    ],
)
def test_an_outcome_is_settled_as_one_of_our_own_workers(account: Any, outcome: Outcome, state: S) -> None:
    reset_for(account)
    assert report(marked(), outcome) == state
    row, attempt = the_delivery(), Attempt.objects.get()
    assert (row.state, row.outcome, row.attempts) == (state, outcome.kind, 1)
    assert (attempt.outcome, attempt.reason, attempt.late_outcome) == (outcome.kind, outcome.reason, "")
    assert attempt.finished_at is not None
    assert attempt.duration_seconds == (attempt.finished_at - attempt.started_at).total_seconds()


def test_the_providers_reference_is_kept_for_its_receipts(account: Any) -> None:
    reset_for(account)
    report(marked(), replace(ACCEPTED, provider_reference="SM123"))
    assert Attempt.objects.get().provider_reference == "SM123"


@pytest.mark.parametrize(
    ("before", "state", "reason"), [(4, S.PENDING, "provider_busy"), (5, S.FAILED, "attempts_used_up")]
)
def test_attempts_from_outside_and_from_here_are_used_up_together(
    account: Any, before: int, state: S, reason: str
) -> None:
    reset_for(account)
    Delivery.objects.update(attempts=before)
    assert report(marked(), BUSY) == state
    row = the_delivery()
    assert (row.reason, row.attempts) == (reason, before + 1)


def test_the_same_outcome_again_is_answered_with_the_state_of_now_and_changes_nothing(account: Any) -> None:
    reset_for(account)
    hold = marked()
    report(hold, BUSY)
    deliver(Channel.EMAIL, transport=ScriptedTransport())
    before = Delivery.objects.values().get(), list(Attempt.objects.order_by("pk").values())
    assert report(hold, BUSY) == S.ACCEPTED
    assert (Delivery.objects.values().get(), list(Attempt.objects.order_by("pk").values())) == before


def test_another_outcome_after_a_certain_one_is_refused_and_changes_nothing(account: Any) -> None:
    reset_for(account)
    hold = marked()
    report(hold, replace(ACCEPTED, provider_reference="SM123"))
    before = Delivery.objects.values().get(), Attempt.objects.values().get()
    with pytest.raises(StaleLease):
        report(hold, REFUSED)
    assert (Delivery.objects.values().get(), Attempt.objects.values().get()) == before


def test_a_worker_that_died_with_a_lease_sent_nothing_and_its_row_is_put_back(account: Any) -> None:
    reset_for(account)
    held()
    age(LEASE + 1)
    assert sweep().put_back == 1
    row = the_delivery()
    assert (row.state, row.reason, row.outcome) == (S.PENDING, "lease_ran_out", "")


def test_a_worker_that_died_with_a_message_leaves_an_ambiguous_attempt(account: Any) -> None:
    reset_for(account)
    marked()
    age(21)
    assert sweep().put_back == 1
    row, attempt = the_delivery(), Attempt.objects.get()
    assert (row.state, row.outcome) == (S.PENDING, "ambiguous")
    assert (attempt.outcome, attempt.reason) == ("ambiguous", "lost")


@pytest.mark.parametrize("outcome", [ACCEPTED, REFUSED, BUSY])
def test_what_a_zombie_tells_is_kept_as_its_attempts_late_outcome_and_nothing_else(
    account: Any, outcome: Outcome
) -> None:
    reset_for(account)
    hold = marked()
    age(21)
    sweep()
    before = Delivery.objects.values().get()
    with pytest.raises(StaleLease):
        report(hold, outcome)
    attempt = Attempt.objects.get()
    assert Delivery.objects.values().get() == before
    assert (attempt.outcome, attempt.reason, attempt.late_outcome) == ("ambiguous", "lost", outcome.kind)


def test_the_first_late_word_stays(account: Any) -> None:
    reset_for(account)
    hold = marked()
    age(21)
    sweep()
    for outcome in (replace(ACCEPTED, provider_reference="SM123"), REFUSED):
        with pytest.raises(StaleLease):
            report(hold, outcome)
    attempt = Attempt.objects.get()
    assert (attempt.late_outcome, attempt.provider_reference) == ("accepted", "SM123")


def test_a_zombie_does_not_settle_what_a_newer_worker_of_its_client_is_submitting(account: Any) -> None:
    reset_for(account)
    zombie = marked()
    age(21)
    sweep()
    age(60)
    newer = marked()
    with pytest.raises(StaleLease):
        report(zombie, REFUSED)
    row = the_delivery()
    assert (row.state, row.lease_token) == (S.SUBMITTING, newer.token)
    assert report(newer) == S.ACCEPTED
