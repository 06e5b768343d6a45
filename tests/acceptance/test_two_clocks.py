"""Beat's ticks, twice at once: two clocks, two sweeps, one of each reset."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from notifications.testing.provider import Fault
from notifications.testing.provider.faults import Behaviour
from resetdelivery import recovery
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import Attempt, Delivery
from resetdelivery.services import request_reset
from tests.acceptance.conftest import MakeAccounts
from tests.acceptance.harness.crash_points import CrashPoint
from tests.acceptance.harness.invariants import assert_invariants
from tests.acceptance.harness.stage import Stage
from tests.acceptance.harness.ticks import all_finished, tick_until_finished
from tests.acceptance.harness.waiting import eventually

pytestmark = pytest.mark.acceptance

BACKLOG = 30


def test_two_sweeps_at_once_hint_at_each_row_once_and_put_each_back_once(
    stage: Stage, make_accounts: MakeAccounts
) -> None:
    for account in make_accounts(BACKLOG):
        request_reset(account_ref=account, channels=["email"])
    stage.broker.flush()
    Delivery.objects.update(hinted_at=None)
    points = stage.armed(CrashPoint.CLAIMED)
    victim = stage.worker("sms", points=points)
    request_reset(account_ref=make_accounts(1)[0], channels=["sms"])
    points.wait_for(CrashPoint.CLAIMED)
    victim.kill()
    Delivery.objects.filter(state=DeliveryState.LEASED).update(lease_expires_at="2000-01-01T00:00:00Z")

    swept = _at_once(recovery.sweep, recovery.sweep)

    assert sum(one.put_back for one in swept) == 1
    assert sum(one.hinted for one in swept) == BACKLOG + 1
    stage.worker()
    tick_until_finished()
    assert_invariants(stage.provider.store.list())


def _at_once(*steps: Callable[[], recovery.Swept]) -> list[recovery.Swept]:
    start = threading.Barrier(len(steps))

    def run(step: Callable[[], recovery.Swept]) -> recovery.Swept:
        start.wait()
        try:
            return step()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(steps)) as pool:
        return list(pool.map(run, steps))


def test_two_clocks_and_the_control_worker_bring_a_reset_home_after_a_kill(
    stage: Stage, make_accounts: MakeAccounts
) -> None:
    stage.provider.faults.add(Fault(channel="sms", behaviour=Behaviour.THROTTLE, seconds=1))
    points = stage.armed(CrashPoint.CLAIMED)
    victim = stage.worker("email", points=points)
    request_reset(account_ref=make_accounts(1)[0], channels=["email", "sms"])
    points.wait_for(CrashPoint.CLAIMED)
    victim.kill()

    stage.beat()
    stage.beat()
    stage.worker("email,sms,control")
    eventually(all_finished, "every delivery finished by beat's ticks alone")
    assert stage.provider.store.count("email") == stage.provider.store.count("sms") == 1
    assert Attempt.objects.filter(delivery__channel="sms", outcome="throttled").count() == 1
    assert_invariants(stage.provider.store.list())
