"""The example's worker as a process of its own, against the private listener as another."""

from __future__ import annotations

import contextlib
import datetime as dt
import socket
from dataclasses import dataclass, field

import pytest
from django.db import connection

from examples.demo import ports
from notifications.testing.provider import Behaviour, Fault
from resetdelivery.api_keys import create_client_key
from resetdelivery.clock import database_now
from resetdelivery.domain.api_key import Scope
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import Attempt, Delivery
from resetdelivery.services import request_reset
from tests.acceptance.conftest import MakeAccounts
from tests.acceptance.harness.invariants import assert_invariants, assert_open_rows_move_on
from tests.acceptance.harness.processes import Running
from tests.acceptance.harness.stage import Stage
from tests.acceptance.harness.ticks import tick, tick_until_finished
from tests.acceptance.harness.waiting import CEILING_SECONDS, eventually

pytestmark = pytest.mark.acceptance


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """The listener's address, and workers with one client's key."""

    stage: Stage
    url: str
    key: str = field(repr=False)

    def worker(self) -> Running:
        return self.stage.external_worker(self.url, self.key)


@pytest.fixture
def outside(stage: Stage, make_accounts: MakeAccounts) -> Outside:
    port = ports.pick()
    listener = stage.internal_api(port, DJANGO_SETTINGS_MODULE="tests.acceptance.patient_settings")

    def listens() -> bool:
        with contextlib.closing(socket.socket()) as client:
            return client.connect_ex((ports.LOOPBACK, port)) == 0

    eventually(lambda: listens() or not listener.is_alive, "the internal API listening")
    assert listener.is_alive, listener.log.read_text(errors="replace")
    key = create_client_key(client="mailer", scopes=[Scope.WORK_CLAIM], who="tests").text
    return Outside(stage=stage, url=ports.address(port), key=key)


def let_leases_run_out() -> None:
    Delivery.objects.exclude(lease_expires_at=None).update(
        lease_expires_at=database_now(connection) - dt.timedelta(seconds=1)
    )


@pytest.mark.parametrize("channel", ["email", "sms"])
def test_a_reset_arrives_through_a_worker_that_knows_no_database(
    stage: Stage, outside: Outside, make_accounts: MakeAccounts, channel: str
) -> None:
    worker = outside.worker()
    request_reset(account_ref=make_accounts(1)[0], channels=[channel])
    tick_until_finished()

    (row,), (attempt,) = Delivery.objects.all(), Attempt.objects.all()
    assert (row.state, row.claims, row.attempts) == (DeliveryState.ACCEPTED, 1, 1)
    assert (attempt.transport, attempt.outcome) == ("api:mailer", "accepted")
    assert attempt.provider_reference
    assert stage.provider.store.count(channel) == 1
    assert_invariants(stage.provider.store.list())
    assert worker.has_logged("accepted: 200 accepted")
    assert not any(map(worker.has_logged, (outside.key, "https://", "@", "+49")))


@pytest.mark.parametrize(
    ("channel", "phase", "copies"),
    [
        # The provider took it, and nobody heard so.
        ("email", "dot", 2),
        ("sms", "submit", 2),
        # The provider never got it, which nobody can know either.
        ("email", "mail", 1),
    ],
)
def test_a_worker_killed_between_message_and_outcome_leaves_a_reset_that_arrives_all_the_same(
    stage: Stage, outside: Outside, make_accounts: MakeAccounts, channel: str, phase: str, copies: int
) -> None:
    stage.provider.faults.add(Fault(channel=channel, behaviour=Behaviour.HANG, phase=phase))
    victim = outside.worker()
    request_reset(account_ref=make_accounts(1)[0], channels=[channel])
    assert stage.provider.faults.wait_until_someone_waits(CEILING_SECONDS)
    victim.kill()
    assert Delivery.objects.get().state == DeliveryState.SUBMITTING
    assert_open_rows_move_on()
    let_leases_run_out()
    tick()
    assert Delivery.objects.get().outcome == "ambiguous"

    outside.worker()
    tick_until_finished()

    assert [(one.outcome, one.transport) for one in Attempt.objects.order_by("number")] == [
        ("ambiguous", "api:mailer"),
        ("accepted", "api:mailer"),
    ]
    # Each with the same Message-ID, bytes and link: that is among the invariants.
    assert stage.provider.store.count(channel) == copies
    assert_invariants(stage.provider.store.list())


def test_workers_outside_and_celery_workers_share_a_backlog_without_a_copy(
    stage: Stage, outside: Outside, make_accounts: MakeAccounts
) -> None:
    accounts = make_accounts(30)
    outside.worker()
    outside.worker()
    stage.worker("email")
    for account in accounts:
        request_reset(account_ref=account, channels=["email"])
    tick_until_finished()
    assert stage.provider.store.count("email") == len(accounts)
    assert set(Attempt.objects.values_list("outcome", flat=True)) == {"accepted"}
    assert_invariants(stage.provider.store.list())
