"""The broker as a producer sees it: a bounded publish, a queue's length, a breaker.

The producer has its own connections and limits, whatever the host's Celery app is set to: by
default a stalled Redis would hold a web request for good.
"""

from __future__ import annotations

import functools
import ssl
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from celery import Celery
from celery.app import app_or_default
from celery.exceptions import AlwaysEagerIgnored
from kombu import Connection, Producer
from kombu.pools import producers
from kombu.serialization import prepare_accept_content

from notifications.hosts import is_loopback
from resetdelivery.breaker import Breaker
from resetdelivery.conf import get_settings
from resetdelivery.logs import get_logger

log = get_logger("resetdelivery.broker")


class BrokerUnavailable(Exception):
    """The broker did not answer in time, or just now did not and is left alone for a while."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """What the host's Celery app lets through and how it reaches its broker; no part of an address.

    ``accepts`` are the content types that a worker unpacks, ``serializers`` what tasks and results are
    packed with where a task says nothing itself. ``unverified``: it encrypts, and would take anybody
    for the broker. ``exposed``: it does not encrypt, and the broker is another machine.
    """

    accepts: frozenset[str]
    serializers: frozenset[str]
    remote_control: bool
    unverified: bool
    exposed: bool


def security() -> Security:
    """The host's Celery app as it is set, without connecting to anything."""
    app = app_or_default()
    connections: list[Any] = [app.connection_for_write(), app.connection_for_read()]
    return Security(
        accepts=frozenset(prepare_accept_content(app.conf.accept_content) or ()),
        serializers=frozenset({app.conf.task_serializer, app.conf.result_serializer}),
        remote_control=bool(app.conf.worker_enable_remote_control),
        unverified=any(_encrypts(one) and not _verifies(one) for one in connections),
        exposed=any(not _encrypts(one) and not is_loopback(one.hostname or "") for one in connections),
    )


def _encrypts(connection: Any) -> bool:
    return bool(connection.ssl) or str(connection.transport_cls) in {"rediss", "amqps"}


def _verifies(connection: Any) -> bool:
    """Whether certificate and name are looked at; kombu's own default for ``rediss://`` is CERT_NONE."""
    options = connection.ssl if isinstance(connection.ssl, dict) else {}
    wanted = options.get("ssl_cert_reqs", options.get("cert_reqs", ssl.CERT_REQUIRED))
    return wanted in {ssl.CERT_REQUIRED, "required"} and options.get("ssl_check_hostname", True) is not False
