"""SIGTERM under load: what was begun is finished, what was not is left for others."""

from __future__ import annotations

import pytest

from notifications.testing.provider import Fault
from notifications.testing.provider.faults import Behaviour
from resetdelivery.domain.states import HELD_STATES
from resetdelivery.models import Attempt, Delivery
from resetdelivery.services import request_reset
from tests.acceptance.conftest import MakeAccounts
from tests.acceptance.harness.invariants import assert_invariants, assert_open_rows_move_on
from tests.acceptance.harness.stage import Stage
from tests.acceptance.harness.ticks import tick_until_finished
from tests.acceptance.harness.waiting import eventually

pytestmark = pytest.mark.acceptance

LOAD = 30


def test_a_warm_stop_under_load_loses_nothing_and_repeats_nothing(
    stage: Stage, make_accounts: MakeAccounts
) -> None:
    store = stage.provider.store
    # One mail of the first wave is held up, so that the signal comes in the middle of a send.
    stage.provider.faults.add(Fault(channel="email", behaviour=Behaviour.HOLD))
    for account in make_accounts(LOAD):
        request_reset(account_ref=account, channels=["email"])
    worker = stage.worker()
    eventually(lambda: store.count() > 0, "the first mail")
    worker.ask_to_stop()
    worker.wait_until_log_says("Warm shutdown")
    stage.provider.faults.release()
    assert worker.exit_code() == 0
    assert_open_rows_move_on()
    assert not Delivery.objects.filter(state__in=HELD_STATES).exists()

    stage.worker()
    tick_until_finished()
    assert store.count() == LOAD
    assert not Attempt.objects.exclude(outcome="accepted").exists()
    assert_invariants(store.list())
