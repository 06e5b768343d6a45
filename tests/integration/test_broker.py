"""Hints over a real Redis, and what becomes of them when it is dead, stalled or full of others."""

from __future__ import annotations

import base64
import json
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

from examples.demo.embedded import Server
from examples.demo.ports import LOOPBACK, pick
from notifications.channels import Channel
from resetdelivery import broker, dispatch
from resetdelivery.breaker import Breaker
from resetdelivery.broker import BrokerUnavailable
from resetdelivery.models import Delivery
from resetdelivery.recovery import sweep
from resetdelivery.services import request_reset
from tests.brokers import Stalled, everything
from tests.conftest import age
from tests.integration.conftest import UseBroker

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def stalled() -> Iterator[Stalled]:
    server = Stalled()
    yield server
    server.close()


def messages(client: redis.Redis[bytes], queue: str) -> list[dict[str, Any]]:
    """The messages of a queue, as they lie in Redis."""
    (key,) = [k for k in client.keys("*") if k.rpartition(b":")[2] == queue.encode()]
    return [json.loads(raw) for raw in client.lrange(key, 0, -1)]


def ask(account: Any, *channels: str) -> None:
    request_reset(account_ref=str(account.pk), channels=list(channels) or ["email"])


# What a hint holds.


def test_a_hint_names_a_channel_and_row_ids_and_nothing_else(account: Any, live: redis.Redis[bytes]) -> None:
    ask(account)
    (message,) = messages(live, "email")
    body = json.loads(base64.b64decode(message["body"]))
    assert body[0] == ["email", [Delivery.objects.get().pk]]
    assert body[1] == {}
    assert message["headers"]["task"] == "resetdelivery.deliver"
    assert (message["headers"]["eta"], message["headers"]["retries"]) == (None, 0)


def test_each_channel_has_a_queue_of_its_own(account: Any, live: redis.Redis[bytes]) -> None:
    ask(account, "email", "sms")
    assert [len(messages(live, queue)) for queue in ("email", "sms")] == [1, 1]


def test_nothing_personal_is_in_redis(account: Any, live: redis.Redis[bytes]) -> None:
    request_reset(submitted=account.email, channels=["email", "sms"], idempotency_key="marked-3141")
    stored = everything(live)
    assert b"resetdelivery.deliver" in stored
    assert not [p for p in (account.email, account.phone, "marked-3141") if p.encode() in stored]


def test_the_length_of_a_queue_is_that_of_its_list(live: redis.Redis[bytes]) -> None:
    assert broker.queue_length("email") == 0
    for _ in range(3):
        broker.publish(dispatch.DELIVER_TASK, ["email", []], queue="email")
    assert (broker.queue_length("email"), broker.queue_length("sms")) == (3, 0)


# When enough of them stand there already.


def test_hints_stop_while_enough_of_them_wait_and_the_rows_say_so(
    make_account: Callable[..., Any], live: redis.Redis[bytes]
) -> None:
    for _ in range(7):
        ask(make_account())
    assert len(messages(live, "email")) == 4
    moments = Delivery.objects.order_by("pk").values_list("hinted_at", flat=True)
    told = [moment is not None for moment in moments]
    assert told == [True] * 4 + [False] * 3


def test_a_backlog_on_one_channel_silences_only_that_one(
    make_account: Callable[..., Any], live: redis.Redis[bytes]
) -> None:
    for _ in range(6):
        ask(make_account())
    ask(make_account(), "sms")
    assert len(messages(live, "sms")) == 1


# When it is away.


@pytest.fixture
def dead(use_broker: UseBroker) -> None:
    use_broker(f"redis://{LOOPBACK}:{pick()}/0")


def test_a_dead_broker_does_not_fail_the_request(account: Any, dead: None) -> None:
    ask(account)
    row = Delivery.objects.get()
    assert (row.state, row.hinted_at) == ("pending", None)


def test_a_stalled_broker_holds_up_one_request_for_its_timeout_and_the_next_not_at_all(
    make_account: Callable[..., Any], use_broker: UseBroker, stalled: Stalled
) -> None:
    use_broker(stalled.url)
    accounts = [make_account() for _ in range(3)]
    took = []
    for account in accounts:
        started = time.monotonic()
        ask(account, "email", "sms")
        took.append(time.monotonic() - started)
    assert 0.3 <= took[0] < 2
    assert stalled.connections == 1
    assert set(Delivery.objects.values_list("hinted_at", flat=True)) == {None}


def test_behind_an_open_breaker_no_socket_is_opened(
    make_account: Callable[..., Any], dead: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = make_account(), make_account()
    ask(first)
    assert broker.breaker().is_open
    opened: list[Any] = []

    class Watched(socket.socket):
        def connect(self, address: Any) -> None:
            opened.append(address)
            super().connect(address)

    monkeypatch.setattr(socket, "socket", Watched)
    ask(second)
    assert opened == []
    broker.breaker().reset()
    ask(make_account())
    assert opened  # the watch works


def test_the_breaker_closes_and_hints_flow_again(
    make_account: Callable[..., Any], dead: None, live: redis.Redis[bytes], use_broker: UseBroker
) -> None:
    broker.breaker().trip()
    ask(make_account())
    assert live.keys("*email") == []
    broker.breaker().reset()
    ask(make_account())
    assert len(messages(live, "email")) == 1


def test_what_could_not_be_hinted_is_hinted_by_the_next_sweep(
    account: Any, redis_server: Server, use_broker: UseBroker, live: redis.Redis[bytes]
) -> None:
    broker.breaker().trip()
    ask(account)
    broker.breaker().reset()
    assert sweep().hinted == 1
    assert len(messages(live, "email")) == 1
    assert Delivery.objects.get().hinted_at is not None


def test_a_flushed_broker_loses_no_reset(account: Any, live: redis.Redis[bytes]) -> None:
    ask(account)
    live.flushall()
    age(60)
    assert sweep().hinted == 1
    assert len(messages(live, "email")) == 1


def test_the_brokers_address_is_in_no_error(use_broker: UseBroker) -> None:
    use_broker(f"redis://:marked-password@{LOOPBACK}:{pick()}/0")
    with pytest.raises(BrokerUnavailable) as failure:
        broker.publish(dispatch.DELIVER_TASK, ["email", []], queue="email")
    assert str(failure.value) == ""
    assert failure.value.__cause__ is None
    assert failure.value.__suppress_context__


def test_a_broker_that_came_back_is_used_again(
    make_account: Callable[..., Any], redis_server: Server, use_broker: UseBroker, live: redis.Redis[bytes]
) -> None:
    ask(make_account())
    live.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    broker.breaker().reset()
    ask(make_account())
    broker.breaker().reset()
    ask(make_account())
    assert len(messages(live, "email")) >= 2


# The breaker by itself.


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(("passed", "is_open"), [(0.0, True), (4.999, True), (5.0, False), (60.0, False)])
def test_a_tripped_breaker_stays_open_for_its_pause(passed: float, is_open: bool) -> None:
    clock = Clock()
    breaker = Breaker(5.0, clock)
    assert not breaker.is_open
    breaker.trip()
    clock.now = passed
    assert breaker.is_open is is_open


def test_a_queue_that_nothing_was_put_in_is_empty(live: redis.Redis[bytes]) -> None:
    assert broker.queue_length("control") == 0


def test_a_channel_without_room_is_left_to_the_workers_at_it(account: Any, live: redis.Redis[bytes]) -> None:
    for _ in range(4):
        broker.publish(dispatch.DELIVER_TASK, ["email", []], queue="email")
    assert dispatch.hint(Channel.EMAIL, [1]) is False


def test_after_the_pause_one_caller_tries_while_the_others_still_fail_at_once() -> None:
    now = [0.0]
    breaker = Breaker(5.0, lambda: now[0])
    breaker.trip()
    now[0] = 5.0
    assert [breaker.enter(), breaker.enter(), breaker.enter()] == [True, False, False]


def test_a_caller_that_got_through_lets_every_other_through() -> None:
    now = [0.0]
    breaker = Breaker(5.0, lambda: now[0])
    breaker.trip()
    now[0] = 5.0
    breaker.enter()
    breaker.reset()
    assert [breaker.enter(), breaker.enter()] == [True, True]


def test_a_caller_that_never_comes_back_does_not_keep_the_breaker_open() -> None:
    now = [0.0]
    breaker = Breaker(5.0, lambda: now[0])
    breaker.trip()
    now[0] = 5.0
    breaker.enter()
    now[0] = 10.0
    assert breaker.enter()


def test_a_publish_that_went_through_closes_the_breaker(live: object) -> None:
    clock = [0.0]
    closing = Breaker(5.0, lambda: clock[0])
    closing.trip()
    clock[0] = 5.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(broker, "breaker", lambda: closing)
        broker.queue_length("email")
    assert [closing.enter(), closing.enter()] == [True, True]
