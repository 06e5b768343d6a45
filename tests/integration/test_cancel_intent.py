from __future__ import annotations

import uuid
from typing import Any

import pytest

from resetdelivery.models import Delivery, ResetIntent
from resetdelivery.services import cancel_intent, request_reset
from tests.conftest import the_delivery
from tests.steps import store, take

pytestmark = pytest.mark.django_db


@pytest.fixture
def reference(account: Any) -> uuid.UUID:
    return request_reset(account_ref=str(account.pk), channels=["email"]).reference


def test_what_nobody_holds_ends_at_once(reference: uuid.UUID) -> None:
    assert cancel_intent(reference) is True
    assert ResetIntent.objects.get().state == "closed"
    assert (the_delivery().state, the_delivery().reason) == ("cancelled", "withdrawn")


def test_a_second_time_nothing_is_left_to_stop(reference: uuid.UUID) -> None:
    cancel_intent(reference)
    asked = ResetIntent.objects.get().cancel_requested_at
    assert cancel_intent(reference) is False
    assert ResetIntent.objects.get().cancel_requested_at == asked


def test_what_a_worker_holds_is_left_to_the_worker(db: None) -> None:
    (row,) = store(overdue=5)
    take()
    assert cancel_intent(row.intent.reference) is True
    assert (the_delivery().state, ResetIntent.objects.get().cancel_reason) == ("leased", "withdrawn")


def test_one_that_was_asked_before_keeps_its_time_and_its_reason(reference: uuid.UUID) -> None:
    due = the_delivery().due_at
    ResetIntent.objects.update(cancel_requested_at=due, cancel_reason="account_limit")
    assert cancel_intent(reference) is True
    intent = ResetIntent.objects.get()
    assert (intent.cancel_requested_at, intent.cancel_reason) == (due, "account_limit")
    assert the_delivery().reason == "account_limit"


def test_other_intents_of_the_account_are_left_alone(reference: uuid.UUID, account: Any) -> None:
    Delivery.objects.update(lease_token=1, attempts=1)
    other = request_reset(account_ref=str(account.pk), channels=["email"]).reference
    cancel_intent(reference)
    assert ResetIntent.objects.get(reference=other).cancel_requested_at is None


def test_one_that_does_not_exist_is_an_error(db: None) -> None:
    with pytest.raises(ResetIntent.DoesNotExist):
        cancel_intent(uuid.uuid4())
