from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection

from resetdelivery import external
from resetdelivery.claim_bounds import InvalidClaim
from resetdelivery.claims import Hold
from resetdelivery.clock import database_now
from resetdelivery.domain.external import owner_of
from resetdelivery.domain.states import DeliveryState
from resetdelivery.external import AlreadyMarked, StaleLease, give_back, hand_out
from resetdelivery.models import Attempt, Delivery
from resetdelivery.recovery import sweep
from tests.conftest import age, the_delivery
from tests.integration.external_steps import (
    LEASE,
    MAILER,
    OTHER,
    claim,
    held,
    hold_of,
    marked,
    report,
    reset_for,
    withdraw,
)
from tests.steps import seconds

pytestmark = pytest.mark.django_db

S = DeliveryState


def of_another_client(hold: Hold) -> Hold:
    return replace(hold, sender=OTHER)


def of_a_client_whose_name_begins_alike(hold: Hold) -> Hold:
    return replace(hold, sender=MAILER + "s")


def under_an_older_token(hold: Hold) -> Hold:
    return replace(hold, token=hold.token - 1)


def of_no_delivery(hold: Hold) -> Hold:
    return replace(hold, reference=uuid.uuid4())


def after_its_lease(hold: Hold) -> Hold:
    age(LEASE + 1)
    return hold


def after_another_claim(hold: Hold) -> Hold:
    age(LEASE + 1)
    sweep()
    age(60)
    assert len(claim(worker_id="w2")) == 1
    return hold


def renew(hold: Hold) -> object:
    return external.renew(hold, lease_seconds=60)


@pytest.mark.parametrize("step", [hand_out, renew, give_back, report])
@pytest.mark.parametrize(
    "other",
    [
        of_another_client,
        of_a_client_whose_name_begins_alike,
        under_an_older_token,
        of_no_delivery,
        after_its_lease,
        after_another_claim,
    ],
)
def test_what_a_worker_does_not_hold_it_cannot_touch(
    account: Any, step: Callable[[Hold], object], other: Callable[[Hold], Hold]
) -> None:
    reset_for(account)
    hold = other(held())
    before = Delivery.objects.values().get()
    with pytest.raises(StaleLease):
        step(hold)
    assert Delivery.objects.values().get() == before
    assert not Attempt.objects.exists()


@pytest.mark.parametrize("other", [of_another_client, under_an_older_token, of_no_delivery])
def test_a_submission_is_settled_by_its_own_client_alone(account: Any, other: Callable[[Hold], Hold]) -> None:
    reset_for(account)
    hold = marked()
    with pytest.raises(StaleLease):
        report(other(hold))
    assert (the_delivery().state, Attempt.objects.get().outcome) == (S.SUBMITTING, "")


def test_a_worker_of_ours_is_not_settled_from_outside(account: Any) -> None:
    reset_for(account)
    hold = held()
    Delivery.objects.update(lease_owner="host:1")
    with pytest.raises(StaleLease):
        hand_out(hold)


def test_workers_of_one_client_may_finish_each_others_work(account: Any) -> None:
    reset_for(account)
    (work,) = claim(worker_id="w1")
    hand_out(hold_of(work))
    assert Delivery.objects.get().lease_owner == owner_of(MAILER, "w1")
    assert report(hold_of(work)) == S.ACCEPTED


def test_a_lease_is_renewed_from_now_on_the_databases_clock(account: Any) -> None:
    reset_for(account)
    hold = held()
    age(25)
    before = database_now(connection)
    ends = external.renew(hold, lease_seconds=60)
    assert seconds(60) <= ends - before < seconds(61)
    assert the_delivery().lease_expires_at == ends


def test_a_renewal_never_shortens(account: Any) -> None:
    reset_for(account)
    (work,) = claim(lease=200)
    assert external.renew(hold_of(work), lease_seconds=20) == work.lease_expires_at


def test_no_renewal_goes_past_the_resets_expiry(account: Any) -> None:
    reset_for(account)
    hold = held()
    Delivery.objects.update(expires_at=database_now(connection) + seconds(100))
    assert external.renew(hold, lease_seconds=250) == the_delivery().expires_at


def test_a_lease_that_went_past_the_expiry_when_it_was_taken_is_not_shortened(account: Any) -> None:
    reset_for(account)
    (work,) = claim(lease=200)
    Delivery.objects.update(expires_at=database_now(connection) + seconds(100))
    assert external.renew(hold_of(work), lease_seconds=250) == work.lease_expires_at


@pytest.mark.parametrize("lease", [19.9, 300.1])
def test_a_renewal_has_the_bounds_of_a_claim(account: Any, lease: float) -> None:
    reset_for(account)
    with pytest.raises(InvalidClaim):
        external.renew(held(), lease_seconds=lease)


@pytest.mark.parametrize("step", [renew, give_back])
def test_what_was_handed_out_is_neither_renewed_nor_given_back(
    account: Any, step: Callable[[Hold], object]
) -> None:
    reset_for(account)
    hold = marked()
    before = Delivery.objects.values().get()
    with pytest.raises(AlreadyMarked):
        step(hold)
    assert Delivery.objects.values().get() == before


def test_what_is_given_back_is_as_if_nobody_had_claimed_it(account: Any) -> None:
    reset_for(account)
    due_at = the_delivery().due_at
    assert give_back(held()) == S.PENDING
    row = the_delivery()
    assert (row.state, row.claims, row.due_at, row.lease_owner) == (S.PENDING, 0, due_at, "")


def test_what_was_withdrawn_meanwhile_ends_when_it_is_given_back(account: Any) -> None:
    reset_for(account)
    hold = held()
    withdraw(account)
    assert give_back(hold) == the_delivery().state == S.CANCELLED
