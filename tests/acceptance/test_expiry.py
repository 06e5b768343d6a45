"""Nothing is tried, and nothing is sent, that could no longer help."""

from __future__ import annotations

import datetime as dt

import pytest
from django.utils import timezone

from notifications.testing.provider import Fault
from notifications.testing.provider.faults import Behaviour
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import Attempt, Delivery
from resetdelivery.services import request_reset
from tests.acceptance.conftest import MakeAccounts
from tests.acceptance.harness.configuration import SEND_BUDGET_SECONDS
from tests.acceptance.harness.invariants import assert_invariants
from tests.acceptance.harness.stage import Stage
from tests.acceptance.harness.ticks import tick_until_finished
from tests.acceptance.harness.waiting import eventually

pytestmark = pytest.mark.acceptance


def test_a_retry_that_cannot_fit_its_lifetime_is_not_made(stage: Stage, make_accounts: MakeAccounts) -> None:
    stage.provider.faults.add(Fault(channel="sms", behaviour=Behaviour.THROTTLE, seconds=3600))
    stage.worker()
    request_reset(account_ref=make_accounts(1)[0], channels=["sms"])
    tick_until_finished()
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.reason) == (DeliveryState.EXPIRED, "retry_does_not_fit")
    assert (delivery.outcome, delivery.attempts) == ("throttled", 1)
    assert_invariants(stage.provider.store.list())


@pytest.mark.parametrize("phase", ["mail", "data"])
def test_a_send_that_outlasts_the_expiry_is_not_completed(
    stage: Stage, make_accounts: MakeAccounts, phase: str
) -> None:
    stage.provider.faults.add(Fault(channel="email", behaviour=Behaviour.HOLD, phase=phase))
    worker = stage.worker()
    (account,) = make_accounts(1)
    # Early in a second: an expiry in whole seconds then leaves a bit less than a send may take.
    eventually(lambda: timezone.now().microsecond < 200_000, "the start of a second")
    expires_at = timezone.now().replace(microsecond=0) + dt.timedelta(seconds=SEND_BUDGET_SECONDS)
    request_reset(account_ref=account, channels=["email"], expires_at=expires_at)
    eventually(lambda: Attempt.objects.exists(), "an attempt on record")
    eventually(lambda: timezone.now() > expires_at, "the expiry")

    stage.provider.faults.release()
    tick_until_finished()
    assert worker.is_alive
    assert stage.provider.store.count() == 0
    assert Delivery.objects.get().state == DeliveryState.EXPIRED
    assert_invariants(stage.provider.store.list())
