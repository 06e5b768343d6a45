"""kill -9 of a worker at each step of a delivery: the reset arrives anyway."""

from __future__ import annotations

import pytest

from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import Attempt, Delivery
from resetdelivery.services import request_reset
from tests.acceptance.conftest import MakeAccounts
from tests.acceptance.harness.configuration import WAVE
from tests.acceptance.harness.crash_points import CrashPoint
from tests.acceptance.harness.invariants import (
    assert_final_rows_kept,
    assert_invariants,
    assert_open_rows_move_on,
    final_rows,
)
from tests.acceptance.harness.stage import Stage
from tests.acceptance.harness.ticks import tick_until_finished

pytestmark = pytest.mark.acceptance

BACKLOG = 30


@pytest.mark.parametrize(
    ("point", "channel", "copies", "outcomes"),
    [
        (CrashPoint.POPPED, "email", 1, ["accepted"]),
        (CrashPoint.CLAIMED, "email", 1, ["accepted"]),
        # Nobody knows whether the provider heard of it: the attempt counts as ambiguous.
        (CrashPoint.MARKED, "email", 1, ["ambiguous", "accepted"]),
        (CrashPoint.MARKED, "sms", 1, ["ambiguous", "accepted"]),
        (CrashPoint.ACCEPTED, "email", 2, ["ambiguous", "accepted"]),
        (CrashPoint.ACCEPTED, "sms", 2, ["ambiguous", "accepted"]),
        (CrashPoint.SETTLED, "email", 1, ["accepted"]),
    ],
)
def test_a_reset_arrives_although_its_worker_was_killed(
    stage: Stage,
    make_accounts: MakeAccounts,
    point: CrashPoint,
    channel: str,
    copies: int,
    outcomes: list[str],
) -> None:
    points = stage.armed(point)
    victim = stage.worker(points=points)
    request_reset(account_ref=make_accounts(1)[0], channels=[channel])
    points.wait_for(point)
    victim.kill()
    assert_open_rows_move_on()
    final = final_rows()

    stage.worker()
    tick_until_finished()

    assert Delivery.objects.get().state == DeliveryState.ACCEPTED
    assert stage.provider.store.count(channel) == copies
    assert [attempt.outcome for attempt in Attempt.objects.order_by("number")] == outcomes
    assert_final_rows_kept(final)
    assert_invariants(stage.provider.store.list())


@pytest.mark.parametrize("point", [CrashPoint.CLAIMED, CrashPoint.ACCEPTED])
def test_a_kill_in_a_backlog_leaves_no_more_than_one_wave_in_doubt(
    stage: Stage, make_accounts: MakeAccounts, point: CrashPoint
) -> None:
    for account in make_accounts(BACKLOG):
        request_reset(account_ref=account, channels=["email"])
    points = stage.armed(point)
    victim = stage.worker(points=points)
    points.wait_for(point)
    victim.kill()
    assert_open_rows_move_on()
    in_doubt = Delivery.objects.filter(state=DeliveryState.SUBMITTING).count()
    assert in_doubt <= WAVE * (point == CrashPoint.ACCEPTED)

    stage.worker()
    tick_until_finished()

    assert set(Delivery.objects.values_list("state", flat=True)) == {DeliveryState.ACCEPTED}
    assert Attempt.objects.filter(outcome="ambiguous").count() == in_doubt
    assert BACKLOG <= stage.provider.store.count() <= BACKLOG + in_doubt
    assert_invariants(stage.provider.store.list())
