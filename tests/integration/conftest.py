from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import kombu.pools
import pytest
import redis
from celery import current_app
from opentelemetry.sdk.trace import ReadableSpan

from examples.demo.embedded import Server, start_redis
from resetdelivery import broker, dispatch
from resetdelivery.telemetry.traces import collector
from resetdelivery.throttles.connection import limits_server
from tests import span_sink
from tests.brokers import Queue
from tests.requesters import Request, Seen, look
from tests.steps import seconds

Settings = Callable[..., None]
UseBroker = Callable[[str], None]
See = Callable[[Request], Seen]


@pytest.fixture
def change(settings: Any) -> Settings:
    """Changes some of RESETDELIVERY for this test."""

    def change_settings(**values: Any) -> None:
        settings.RESETDELIVERY = {**settings.RESETDELIVERY, **values}

    return change_settings


@pytest.fixture
def hinted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Row ids that were hinted at, after the commits."""
    ids: list[int] = []
    monkeypatch.setattr(
        dispatch, "_hint_all", lambda by_channel, *_: ids.extend(i for c in by_channel.values() for i in c)
    )
    return ids


@pytest.fixture
def see(hinted: list[int], django_capture_on_commit_callbacks: Any) -> See:
    """Makes a request, and says what can be seen of it."""
    return lambda request: look(request, hinted, django_capture_on_commit_callbacks)


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch, change: Settings) -> Queue:
    change(DISPATCH="broker")
    stand_in = Queue()
    monkeypatch.setattr(broker, "queue_length", stand_in.queue_length)
    monkeypatch.setattr(broker, "publish", stand_in.publish)
    return stand_in


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with start_redis(tmp_path_factory.mktemp("redis"), environ={}) as started:
        yield started


@pytest.fixture
def use_broker(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[UseBroker]:
    """Points the producer at a broker of one's own, with a short timeout and a closed breaker."""
    settings.RESETDELIVERY = {
        **settings.RESETDELIVERY,
        "DISPATCH": "broker",
        "PUBLISH_TIMEOUT": seconds(0.3),
    }
    assert current_app.conf.task_queues

    def use(url: str) -> None:
        monkeypatch.setenv("CELERY_BROKER_URL", url)
        kombu.pools.reset()
        broker.breaker().reset()

    yield use
    kombu.pools.reset()
    broker.breaker().reset()


@pytest.fixture
def live(redis_server: Server, use_broker: UseBroker) -> Iterator[redis.Redis[bytes]]:
    """A client of the Redis that is the broker now; empty."""
    use_broker(redis_server.url)
    with redis.Redis.from_url(redis_server.url) as client:
        client.flushall()
        yield client


@pytest.fixture
def limits(redis_server: Server, change: Settings) -> Iterator[redis.Redis[bytes]]:
    """A client of the Redis that holds the limits now: a database of its own, and empty."""
    url = redis_server.url.removesuffix("/0") + "/1"
    change(LIMITS_REDIS_URL=url, LIMITS_TIMEOUT=seconds(2))
    with redis.Redis.from_url(url) as client:
        client.flushdb()
        # A test before this one may have left it alone for a while.
        limits_server().breaker.reset()
        yield client
    limits_server().client.close()


@pytest.fixture
def traced(change: Settings) -> Iterator[list[ReadableSpan]]:
    """Traces are on, all of them kept; what was exported is in the list."""
    change(TRACE_EXPORTER="tests.span_sink.Sink", TRACE_SUCCESSES_PER_MILLE=1000)
    span_sink.TAKEN.clear()
    yield span_sink.TAKEN
    collector.forget()
