"""``ops/redis/users.acl`` on a real Valkey: each process works under its user, and can do no more."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any

import kombu.pools
import pytest
import redis
from celery import Celery, current_app

from examples.demo import ports
from resetdelivery import broker
from resetdelivery.models import Delivery
from resetdelivery.services import request_reset
from resetdelivery.throttles import admit_api_call, conversion
from tests.acceptance.conftest import MakeAccounts
from tests.acceptance.harness.guarded_redis import USERS, GuardedRedis, filled_in
from tests.acceptance.harness.stage import Stage
from tests.acceptance.harness.ticks import tick_until
from tests.acceptance.harness.waiting import eventually
from tests.acceptance.test_flower import asked

pytestmark = pytest.mark.acceptance

UseAs = Callable[[str], None]
LIMITS_SETTINGS = "tests.acceptance.limits_settings"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedRedis]:
    running = GuardedRedis(tmp_path_factory.mktemp("guarded"))
    yield running
    running.stop()


@pytest.fixture
def acts_as(guarded: GuardedRedis, monkeypatch: pytest.MonkeyPatch, configure: object) -> UseAs:
    """Makes this process the producer, under one of the file's users."""

    def use(user: str) -> None:
        monkeypatch.setenv("CELERY_BROKER_URL", guarded.url(user))
        kombu.pools.reset()
        broker.breaker.cache_clear()

    with guarded.client("operator") as client:
        client.flushall()
    guarded.forget_refusals()
    use("web")
    return use


def under(guarded: GuardedRedis, user: str) -> dict[str, str]:
    """The environment of a process that signs in as ``user``."""
    url = guarded.url(user)
    return {"REDIS_URL": url, "CELERY_BROKER_URL": url, "WORKER_REMOTE_CONTROL": "0"}


def all_accepted(number: int) -> Callable[[], bool]:
    return lambda: Delivery.objects.filter(state="accepted").count() == number


def test_a_web_process_and_a_worker_deliver_and_ask_for_nothing_else(
    stage: Stage, guarded: GuardedRedis, acts_as: UseAs, make_accounts: MakeAccounts
) -> None:
    stage.worker(points=None, **under(guarded, "worker"))
    (ref,) = make_accounts(1)
    request_reset(account_ref=ref, channels=["email", "sms"])
    tick_until(all_accepted(2), "both deliveries accepted")
    assert not Delivery.objects.filter(hinted_at=None).exists()
    assert guarded.refusals() == []


def test_beat_and_a_control_worker_find_what_nobody_was_told_of(
    stage: Stage, guarded: GuardedRedis, acts_as: UseAs, make_accounts: MakeAccounts
) -> None:
    (ref,) = make_accounts(1)
    acts_as("beat")  # who may not write to the queue of emails: the hint is lost
    request_reset(account_ref=ref, channels=["email"])
    assert ("beat", "resetdelivery:email") in guarded.refusals()
    guarded.forget_refusals()
    stage.worker("email,sms,control", points=None, **under(guarded, "worker"))
    stage.beat(**under(guarded, "beat"))
    eventually(all_accepted(1), "the delivery accepted")
    assert guarded.refusals() == []


def test_flower_sees_the_tasks_and_orders_no_worker_about(
    stage: Stage, guarded: GuardedRedis, acts_as: UseAs, make_accounts: MakeAccounts
) -> None:
    port = ports.pick()
    worker = stage.worker(points=None, **under(guarded, "worker"))
    stage.flower(port, **under(guarded, "flower"))

    def shows_a_task() -> bool:
        with contextlib.suppress(broker.BrokerUnavailable):
            broker.publish("resetdelivery.deliver", ["email", []], queue="email")
        return bool(asked(port, "tasks"))

    eventually(shows_a_task, "a task in Flower")
    # Flower has to say hello to the workers: with remote control off, none listens.
    acts_as("flower")
    with Celery(set_as_current=False) as flower:  # a new one: the process's own keeps its connections
        flower.conf.broker_transport_options = current_app.conf.broker_transport_options
        flower.control.shutdown()
    acts_as("web")
    (ref,) = make_accounts(1)
    request_reset(account_ref=ref, channels=["email"])
    tick_until(all_accepted(1), "the delivery accepted")
    assert worker.is_alive


def test_the_limits_are_kept_by_a_user_of_their_own(
    stage: Stage,
    guarded: GuardedRedis,
    acts_as: UseAs,
    settings: Any,
    make_accounts: MakeAccounts,
) -> None:
    url = guarded.url("limits").replace("/0", "/1")
    patient = {"DJANGO_SETTINGS_MODULE": LIMITS_SETTINGS, "LIMITS_URL": url, "LIMITS_SECONDS": "10"}
    stage.worker(points=None, **under(guarded, "worker"), **patient)
    (ref,) = make_accounts(1)
    request_reset(account_ref=ref, channels=["sms"])
    tick_until(all_accepted(1), "the text message accepted")
    settings.RESETDELIVERY = {
        **settings.RESETDELIVERY,
        "LIMITS_REDIS_URL": url,
        "LIMITS_TIMEOUT": dt.timedelta(seconds=10),
        "API_CALLS_PER_MINUTE": 1,
    }
    assert admit_api_call("shop") == 0
    assert admit_api_call("shop") > 0
    conversion.note_used("+4915112345001")
    assert conversion.check_conversion() == []
    with guarded.client("operator") as client:
        client.execute_command("SELECT", "1")
        assert client.keys("resetdelivery:limits:sms:*")
    assert guarded.refusals() == []


FORBIDDEN = [
    ("FLUSHALL",),
    ("FLUSHDB",),
    ("KEYS", "*"),
    ("SCAN", "0"),
    ("CONFIG", "GET", "*"),
    ("ACL", "LIST"),
    ("CLIENT", "LIST"),
    ("MONITOR",),
    ("REPLICAOF", "NO", "ONE"),
    ("SHUTDOWN", "NOSAVE"),
    ("EVAL", "return 1", "0"),
    ("GET", "another-program:key"),
    ("SET", "another-program:key", "x"),
    ("SUBSCRIBE", "another-program"),
]
OWN_FORBIDDEN = [
    # A web process writes hints and reads none: not even another's.
    ("web", ("BRPOP", "resetdelivery:email", "1")),
    ("web", ("LRANGE", "resetdelivery:email", "0", "-1")),
    ("web", ("DEL", "resetdelivery:email")),
    ("web", ("LPUSH", "resetdelivery:control", "x")),
    ("web", ("HGETALL", "resetdelivery:unacked")),
    ("web", ("PUBLISH", "resetdelivery:/0.celery.pidbox", "{}")),
    ("worker", ("PUBLISH", "resetdelivery:/0.celery.pidbox", "{}")),
    ("web", ("PUBLISH", "resetdelivery:/0.celeryev/worker.online", "{}")),
    ("beat", ("LPUSH", "resetdelivery:email", "x")),
    *((user, ("SELECT", "1")) for user in ("web", "beat", "worker", "flower")),
    ("worker", ("LRANGE", "resetdelivery:email", "0", "-1")),
    ("worker", ("PSUBSCRIBE", "resetdelivery:/0.celeryev/*")),
    ("flower", ("LPUSH", "resetdelivery:email", "x")),
    ("flower", ("BRPOP", "resetdelivery:email", "1")),
    ("flower", ("DEL", "resetdelivery:email")),
    ("limits", ("LLEN", "resetdelivery:email")),
    ("limits", ("SET", "resetdelivery:unacked_mutex", "x")),
    ("web", ("SET", "resetdelivery:limits:x", "1")),
]


@pytest.mark.parametrize(
    ("user", "command"),
    [*((user, command) for user in USERS[1:] for command in FORBIDDEN), *OWN_FORBIDDEN],
    ids=lambda value: value if isinstance(value, str) else " ".join(value[:2]),
)
def test_a_user_is_refused_what_its_process_does_not_need(
    guarded: GuardedRedis, user: str, command: tuple[str, ...]
) -> None:
    with guarded.client(user) as client, pytest.raises(redis.exceptions.NoPermissionError):
        client.execute_command(*command)


def test_nobody_comes_in_without_a_user(guarded: GuardedRedis) -> None:
    port = guarded.client("web").connection_pool.connection_kwargs["port"]
    with redis.Redis(port=port) as client, pytest.raises(redis.exceptions.AuthenticationError):
        client.ping()


def test_the_file_holds_digests_only_once_it_is_filled_in() -> None:
    passwords = {user: f"password-of-{user}" for user in USERS}
    text = filled_in(passwords)
    assert [word for word in passwords.values() if word in text] == []
    assert [line for line in text.splitlines() if " on #" in line and len(line.split()[3]) != 65] == []
