"""Redis emptied, dead or stalled: requests are answered and every reset arrives."""

from __future__ import annotations

import datetime as dt
import socket
from collections.abc import Callable
from typing import Any

import pytest

from resetdelivery import broker
from resetdelivery.services import request_reset
from tests.acceptance.conftest import MakeAccounts
from tests.acceptance.harness.invariants import assert_invariants
from tests.acceptance.harness.redis_broker import RedisBroker
from tests.acceptance.harness.stage import Stage
from tests.acceptance.harness.ticks import all_finished, tick_until_finished
from tests.acceptance.harness.waiting import eventually

pytestmark = pytest.mark.acceptance

BACKLOG = 30
#: Longer than four requests take on any machine.
LONG_PAUSE = dt.timedelta(minutes=10)

#: How Redis goes away, and how it comes back.
OUTAGES = [
    pytest.param(RedisBroker.kill, RedisBroker.start_again, id="dead"),
    pytest.param(RedisBroker.freeze, RedisBroker.thaw, id="stalled"),
]


@pytest.fixture
def redis_connects(monkeypatch: pytest.MonkeyPatch, redis_broker: RedisBroker) -> list[Any]:
    """Every attempt of this process to connect to Redis, from now on."""
    connects: list[Any] = []
    connect = socket.socket.connect

    def noted(sock: socket.socket, address: Any) -> None:
        if isinstance(address, tuple) and address[1] == redis_broker.port:
            connects.append(address)
        connect(sock, address)

    monkeypatch.setattr(socket.socket, "connect", noted)
    return connects


def test_an_emptied_broker_loses_no_reset_of_a_backlog(stage: Stage, make_accounts: MakeAccounts) -> None:
    for account in make_accounts(BACKLOG):
        request_reset(account_ref=account, channels=["email"])
    assert stage.broker.messages("email")
    stage.broker.flush()
    assert not stage.broker.messages("email")

    stage.worker()
    tick_until_finished()
    assert stage.provider.store.count() == BACKLOG
    assert_invariants(stage.provider.store.list())


@pytest.mark.parametrize(("goes", "comes_back"), OUTAGES)
def test_without_redis_requests_are_answered_and_later_ones_open_no_socket(
    stage: Stage,
    make_accounts: MakeAccounts,
    redis_connects: list[Any],
    settings: Any,
    goes: Callable[[RedisBroker], None],
    comes_back: Callable[[RedisBroker], None],
) -> None:
    settings.RESETDELIVERY = {**settings.RESETDELIVERY, "PUBLISH_PAUSE": LONG_PAUSE}
    accounts = make_accounts(6)
    request_reset(account_ref=accounts.pop(), channels=["email", "sms"])
    assert redis_connects, "The broker was not even asked while it was there."
    goes(stage.broker)

    # Comes back at all: of itself a publish to a stalled Redis waits for ever.
    request_reset(account_ref=accounts.pop(), channels=["email", "sms"])
    assert broker.breaker().is_open

    redis_connects.clear()
    for account in accounts:
        request_reset(account_ref=account, channels=["email", "sms"])
    assert redis_connects == []

    comes_back(stage.broker)
    broker.breaker().reset()
    stage.worker()
    tick_until_finished()
    assert stage.provider.store.count("email") == stage.provider.store.count("sms") == 6
    assert_invariants(stage.provider.store.list())


@pytest.mark.parametrize(("goes", "comes_back"), OUTAGES)
def test_a_worker_that_lives_through_an_outage_of_redis_delivers_afterwards(
    stage: Stage,
    make_accounts: MakeAccounts,
    goes: Callable[[RedisBroker], None],
    comes_back: Callable[[RedisBroker], None],
) -> None:
    worker = stage.worker()
    goes(stage.broker)
    request_reset(account_ref=make_accounts(1)[0], channels=["email", "sms"])
    comes_back(stage.broker)
    tick_until_finished()
    assert worker.is_alive
    assert_invariants(stage.provider.store.list())


@pytest.mark.parametrize(("goes", "comes_back"), OUTAGES)
def test_the_poller_delivers_and_retries_while_redis_is_gone(
    stage: Stage,
    make_accounts: MakeAccounts,
    goes: Callable[[RedisBroker], None],
    comes_back: Callable[[RedisBroker], None],
) -> None:
    goes(stage.broker)
    request_reset(account_ref=make_accounts(1)[0], channels=["email", "sms"])
    stage.poller(dispatch="broker")
    eventually(all_finished, "every delivery finished by the poller alone")
    assert stage.provider.store.count("email") == stage.provider.store.count("sms") == 1
    assert_invariants(stage.provider.store.list())
