"""A worker frozen past its lease: others finish, and what it does when it wakes changes nothing."""

from __future__ import annotations

import pytest

from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import Attempt, ChannelControl, Delivery
from resetdelivery.services import request_reset
from tests.acceptance.conftest import MakeAccounts
from tests.acceptance.harness.crash_points import CrashPoint
from tests.acceptance.harness.invariants import assert_final_rows_kept, assert_invariants, final_rows
from tests.acceptance.harness.stage import Stage
from tests.acceptance.harness.ticks import tick_until, tick_until_finished

pytestmark = pytest.mark.acceptance


@pytest.mark.parametrize(
    ("point", "channel", "copies", "attempts"),
    [
        (CrashPoint.CLAIMED, "email", 1, [("accepted", "")]),
        (CrashPoint.CLAIMED, "sms", 1, [("accepted", "")]),
        # It wakes after the deadline that it was given at the mark, and so sends nothing.
        (CrashPoint.MARKED, "email", 1, [("ambiguous", "late"), ("accepted", "")]),
        (CrashPoint.MARKED, "sms", 1, [("ambiguous", "late"), ("accepted", "")]),
        (CrashPoint.ACCEPTED, "email", 2, [("ambiguous", "accepted"), ("accepted", "")]),
        (CrashPoint.ACCEPTED, "sms", 2, [("ambiguous", "accepted"), ("accepted", "")]),
    ],
)
def test_a_worker_that_wakes_after_its_lease_changes_no_delivery(
    stage: Stage,
    make_accounts: MakeAccounts,
    point: CrashPoint,
    channel: str,
    copies: int,
    attempts: list[tuple[str, str]],
) -> None:
    points = stage.armed(point, CrashPoint.FINISHED)
    zombie = stage.worker(points=points)
    request_reset(account_ref=make_accounts(1)[0], channels=[channel])
    points.wait_for(point)
    zombie.freeze()
    stage.worker()
    tick_until_finished()
    final = final_rows()

    zombie.thaw()
    points.release(point)
    points.wait_for(CrashPoint.FINISHED)

    assert_final_rows_kept(final)
    assert Delivery.objects.get().state == DeliveryState.ACCEPTED
    assert stage.provider.store.count(channel) == copies
    seen = Attempt.objects.order_by("number").values_list("outcome", "late_outcome")
    assert list(seen) == attempts
    assert_invariants(stage.provider.store.list())


@pytest.mark.parametrize(
    ("point", "holders_point", "copies"),
    [
        (CrashPoint.CLAIMED, CrashPoint.CLAIMED, 1),
        (CrashPoint.ACCEPTED, CrashPoint.MARKED, 2),
    ],
)
def test_a_worker_that_wakes_after_its_lease_does_not_act_on_the_next_holders_one(
    stage: Stage, make_accounts: MakeAccounts, point: CrashPoint, holders_point: CrashPoint, copies: int
) -> None:
    points, holders_points = stage.armed(point, CrashPoint.FINISHED), stage.armed(holders_point)
    zombie = stage.worker(points=points)
    request_reset(account_ref=make_accounts(1)[0], channels=["email"])
    points.wait_for(point)
    zombie.freeze()
    stage.worker(points=holders_points)
    tick_until(lambda: holders_points.is_reached(holders_point), "the next holder at its point")
    held = Delivery.objects.values().get()

    zombie.thaw()
    points.release(point)
    points.wait_for(CrashPoint.FINISHED)
    assert Delivery.objects.values().get() == held

    holders_points.release(holders_point)
    tick_until_finished()
    assert Delivery.objects.get().state == DeliveryState.ACCEPTED
    assert stage.provider.store.count() == copies
    assert_invariants(stage.provider.store.list())


@pytest.mark.parametrize(("point", "copies"), [(CrashPoint.CLAIMED, 1), (CrashPoint.ACCEPTED, 2)])
def test_a_worker_that_wakes_after_its_row_was_put_back_leaves_it_there(
    stage: Stage, make_accounts: MakeAccounts, point: CrashPoint, copies: int
) -> None:
    points = stage.armed(point, CrashPoint.FINISHED)
    zombie = stage.worker(points=points)
    request_reset(account_ref=make_accounts(1)[0], channels=["email"])
    points.wait_for(point)
    zombie.freeze()
    # Put back and not claimed by anyone: the row still has the token that the zombie knows.
    ChannelControl.objects.update(paused=True)
    tick_until(Delivery.objects.filter(state=DeliveryState.PENDING).exists, "the row put back")
    put_back = Delivery.objects.values().get()

    zombie.thaw()
    points.release(point)
    points.wait_for(CrashPoint.FINISHED)
    assert Delivery.objects.values().get() == put_back

    ChannelControl.objects.update(paused=False)
    tick_until_finished()
    assert Delivery.objects.get().state == DeliveryState.ACCEPTED
    assert stage.provider.store.count() == copies
    assert_invariants(stage.provider.store.list())
