"""The broker as a producer sees it: a bounded publish, a queue's length, a breaker.

The producer has its own connections and limits, whatever the host's Celery app is set to: by
default a stalled Redis would hold a web request for good.
"""

from __future__ import annotations

import functools
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from celery import Celery
from celery.app import app_or_default
from celery.exceptions import AlwaysEagerIgnored
from kombu import Connection, Producer
from kombu.pools import producers

from resetdelivery.conf import get_settings
from resetdelivery.logs import get_logger

log = get_logger("resetdelivery.broker")


class BrokerUnavailable(Exception):
    """The broker did not answer in time, or just now did not and is left alone for a while."""


class Breaker:
    """After a failure, fails at once for ``pause_seconds`` without touching the network.

    When the pause is over, one caller tries while the others go on failing at once: a broker that
    is still away costs one caller its time, and not every thread.
    """

    def __init__(self, pause_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._pause_seconds = pause_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._try_again_at: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether calls fail at once."""
        return self._try_again_at is not None and self._clock() < self._try_again_at

    def enter(self) -> bool:
        """Whether the caller may try; after a failure, one caller for each pause."""
        with self._lock:
            if self.is_open:
                return False
            if self._try_again_at is not None:
                self._try_again_at = self._clock() + self._pause_seconds
            return True

    def trip(self) -> None:
        """Fail at once from now on, for the pause."""
        with self._lock:
            self._try_again_at = self._clock() + self._pause_seconds

    def reset(self) -> None:
        """Let every call through again."""
        with self._lock:
            self._try_again_at = None


@functools.lru_cache(maxsize=1)
def breaker() -> Breaker:
    """This process's breaker."""
    return Breaker(get_settings().publish_pause.total_seconds())


def publish(task: str, args: Sequence[object], *, queue: str) -> None:
    """Send one task message; :class:`BrokerUnavailable` within the publish timeout otherwise."""
    with _bounded(app_or_default()) as (app, producer), _unwarned(app):
        app.send_task(
            task,
            args=list(args),
            queue=queue,
            producer=producer,
            retry=False,
            ignore_result=True,
            serializer="json",
        )


@contextmanager
def _unwarned(app: Celery) -> Iterator[None]:
    """A host that is eager in its tests means its own tasks; a hint is sent all the same."""
    with warnings.catch_warnings() if app.conf.task_always_eager else nullcontext():
        if app.conf.task_always_eager:
            warnings.simplefilter("ignore", AlwaysEagerIgnored)
        yield


def queue_length(queue: str) -> int:
    """Messages that wait in ``queue``; :class:`BrokerUnavailable` if it cannot be said."""
    with _bounded(app_or_default()) as (app, producer):
        channel: Any = producer.channel
        # Not passively: with a ``global_keyprefix`` kombu then looks for the key without its prefix,
        # and says that there is no queue. Declaring writes nothing to Redis.
        declared: Any = app.amqp.queues[queue](channel).queue_declare()
        return int(declared.message_count)


@contextmanager
def _bounded(app: Celery) -> Iterator[tuple[Celery, Producer]]:
    if not breaker().enter():
        raise BrokerUnavailable
    timeout = get_settings().publish_timeout.total_seconds()
    try:
        with producers[_connection(app, timeout)].acquire(block=True, timeout=timeout) as producer:
            yield app, producer
    except Exception as error:
        # Whatever it was, its text may hold the broker's address: it ends here.
        breaker().trip()
        log.warning("broker_unavailable", error_class=type(error).__name__)
        raise BrokerUnavailable from None
    breaker().reset()


def _connection(app: Celery, timeout: float) -> Connection:
    """Equal for every call, so that the pool keyed by it is found again."""
    return app.connection_for_write(
        connect_timeout=timeout,
        transport_options={
            "socket_timeout": timeout,
            "socket_connect_timeout": timeout,
            "retry_on_timeout": False,
            "max_retries": 0,
            "interval_start": 0,
            "interval_step": 0,
            "interval_max": 0,
        },
    )
