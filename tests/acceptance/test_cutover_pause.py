"""The kill switch, pulled while real workers send a backlog."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest
from django.db import connection

from notifications.channels import Channel
from notifications.testing.provider import Fault
from notifications.testing.provider.faults import Behaviour
from resetdelivery.clock import database_now
from resetdelivery.cutover.steps import pause, resume
from resetdelivery.domain.states import HELD_STATES, DeliveryState
from resetdelivery.models import Attempt, Delivery
from resetdelivery.services import request_reset
from tests.acceptance.conftest import MakeAccounts
from tests.acceptance.harness.boundary import Boundary
from tests.acceptance.harness.invariants import assert_final_rows_kept, assert_invariants, final_rows
from tests.acceptance.harness.stage import Stage
from tests.acceptance.harness.ticks import all_finished, tick_until
from tests.acceptance.harness.waiting import eventually

pytestmark = pytest.mark.acceptance

ACCOUNTS = 80
#: Of two channels.
BACKLOG = 2 * ACCOUNTS
#: An answer takes about a third of a second, and so the backlog takes a few.
SLOWLY = (
    Fault(channel="email", behaviour=Behaviour.DRIP, count=0, seconds=0.02),
    Fault(channel="sms", behaviour=Behaviour.DRIP, count=0, seconds=0.001),
)
S = DeliveryState


@pytest.fixture(params=[Boundary.BROKER, Boundary.DATABASE], ids=str)
def _busy(
    request: pytest.FixtureRequest,
    stage: Stage,
    configure: Callable[[str], None],
    make_accounts: MakeAccounts,
) -> None:
    """Workers of both channels are in the middle of a backlog: two processes, or the poller's threads."""
    boundary: Boundary = request.param
    configure(boundary)
    for fault in SLOWLY:
        stage.provider.faults.add(fault)
    for account in make_accounts(ACCOUNTS):
        request_reset(account_ref=account, channels=["email", "sms"])
    if boundary is Boundary.BROKER:
        for queue in ("email", "sms"):
            stage.starting_worker(queue)
    else:
        stage.poller()
    sending = Attempt.objects.values("delivery__channel").distinct()
    eventually(lambda: sending.count() == 2, "both channels send")


def count(*states: DeliveryState) -> int:
    return Delivery.objects.filter(state__in=states).count()


@pytest.mark.usefixtures("_busy")
def test_nothing_is_marked_after_a_pause_and_what_waits_expires_or_goes_on(
    stage: Stage, make_accounts: MakeAccounts
) -> None:
    assert pause(list(Channel), who="ada", why="wrong links") == tuple(Channel)
    paused_at = database_now(connection)
    marked = set(Attempt.objects.values_list("pk", flat=True))

    short = request_reset(
        account_ref=make_accounts(1)[0], channels=["email"], lifetime=dt.timedelta(seconds=5)
    )
    tick_until(lambda: not count(*HELD_STATES), "what was held is sent, or given back")
    tick_until(lambda: count(S.EXPIRED) == 1, "a reset of a paused channel expires")
    expired = Delivery.objects.get(state=S.EXPIRED)
    assert (expired.intent.reference, expired.attempts) == (short.reference, 0)
    assert database_now(connection) >= expired.expires_at - dt.timedelta(seconds=2)

    assert set(Attempt.objects.values_list("pk", flat=True)) == marked
    assert not Attempt.objects.filter(started_at__gt=paused_at).exists()
    assert count(S.ACCEPTED) <= stage.provider.store.count() <= len(marked)
    assert count(S.PENDING) == BACKLOG - count(S.ACCEPTED) > 0
    final = final_rows()

    stage.provider.faults.clear()
    assert resume(list(Channel), who="ada") == tuple(Channel)
    # Without a tick: nobody waits for the next sweep.
    eventually(all_finished, "the backlog is sent")
    assert (count(S.ACCEPTED), count(S.EXPIRED)) == (BACKLOG, 1)
    assert_final_rows_kept(final)
    assert_invariants(stage.provider.store.list())
