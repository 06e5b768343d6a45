"""When an attempt was claimed, how much of the lease was gone, and when a late word came."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.db import connection

from resetdelivery.claims import Claimed, mark
from resetdelivery.clock import database_now
from resetdelivery.domain.external import sender_of
from resetdelivery.models import Attempt, Delivery
from resetdelivery.recovery import sweep
from tests.steps import answer, record, seconds, store, take, with_message

pytestmark = pytest.mark.django_db


def test_an_attempt_knows_when_its_claim_was_made() -> None:
    store()
    (claimed,) = take()
    record([claimed])
    assert Attempt.objects.get().claimed_at == claimed.claimed_at


@pytest.mark.parametrize(("lease", "least", "most"), [(1000.0, 0.0, 0.1), (10.0, 0.5, 1.0)])
def test_an_attempt_knows_how_much_of_the_lease_was_gone(lease: float, least: float, most: float) -> None:
    store()
    (claimed,) = take(lease=lease)
    # As if the batch had been at its other rows for five seconds.
    record([_earlier(claimed, 5)])
    used = Attempt.objects.get().lease_used
    assert used is not None
    assert least <= used < most


def _earlier(claimed: Claimed, by: float) -> Claimed:
    return replace(
        claimed,
        claimed_at=claimed.claimed_at - seconds(by),
        lease_expires_at=claimed.lease_expires_at - seconds(by),
    )


def test_of_a_worker_outside_neither_is_known() -> None:
    store()
    mark(
        [with_message(one) for one in take()],
        send_budget_seconds=15,
        lease_margin_seconds=5,
        transport=sender_of("shop"),
        worker="api:shop:1",
        using="default",
    )
    attempt = Attempt.objects.get()
    assert (attempt.claimed_at, attempt.lease_used) == (None, None)


def test_an_outcome_in_time_has_no_late_moment() -> None:
    store()
    answer(record(take()))
    assert Attempt.objects.get().late_at is None


def test_a_late_outcome_has_the_moment_at_which_it_was_told() -> None:
    store()
    marked = record(take())
    Delivery.objects.update(lease_expires_at=database_now(connection) - seconds(1))
    sweep()
    before = database_now(connection)
    answer(marked)
    attempt = Attempt.objects.get()
    assert attempt.late_outcome == "accepted"
    assert attempt.late_at is not None
    assert before - seconds(0.001) <= attempt.late_at <= database_now(connection)
