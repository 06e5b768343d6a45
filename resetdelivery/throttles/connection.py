"""The Redis that holds the limits: bounded, behind a breaker, never named in a log."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import redis
from django.views.decorators.debug import sensitive_variables
from redis.backoff import NoBackoff
from redis.connection import parse_url
from redis.retry import Retry

from resetdelivery.breaker import Breaker
from resetdelivery.conf import get_settings
from resetdelivery.logs import get_logger

log = get_logger("resetdelivery.throttles")


class LimitsUnavailable(Exception):
    """The limits cannot be asked: their Redis did not answer in time, or just now did not."""


class LimitsServer:
    """A client whose every call ends within the timeout, and the breaker before it."""

    def __init__(self, url: str, timeout_seconds: float, pause_seconds: float) -> None:
        self.breaker = Breaker(pause_seconds)
        options: dict[str, Any] = {
            **parse_url(url),
            # Options in the address do not win over these.
            "socket_timeout": timeout_seconds,
            "socket_connect_timeout": timeout_seconds,
            "retry": Retry(NoBackoff(), 0),
            "decode_responses": True,
        }
        pool = redis.ConnectionPool(**options)
        self.client = cast("redis.Redis[str]", redis.Redis(connection_pool=pool))

    @contextmanager
    def bounded(self) -> Iterator[redis.Redis[str]]:
        """The client; whatever goes wrong with it is :class:`LimitsUnavailable`."""
        if not self.breaker.enter():
            raise LimitsUnavailable
        try:
            yield self.client
        except Exception as error:
            # Its text may hold the server's address: it ends here.
            self.breaker.trip()
            log.warning("limits_unavailable", error_class=type(error).__name__)
            raise LimitsUnavailable from None
        self.breaker.reset()


def is_on() -> bool:
    """Whether there is a Redis for limits at all."""
    return bool(get_settings().limits_redis_url)


@sensitive_variables()
def run(script: str, keys: Sequence[str], arguments: Sequence[str | int]) -> Any:
    """What the Lua ``script`` answers: by its digest, and with its text where Redis forgot it."""
    with connected() as client:
        return client.register_script(script)(keys=keys, args=arguments)


@contextmanager
def connected() -> Iterator[redis.Redis[str]]:
    """This process's client of the limits; :class:`LimitsUnavailable` within the timeout otherwise."""
    with limits_server().bounded() as client:
        yield client


def limits_server() -> LimitsServer:
    """This process's connections, as the settings are now."""
    settings = get_settings()
    return _server(
        settings.limits_redis_url,
        settings.limits_timeout.total_seconds(),
        settings.limits_pause.total_seconds(),
    )


@functools.lru_cache(maxsize=1)
def _server(url: str, timeout_seconds: float, pause_seconds: float) -> LimitsServer:
    return LimitsServer(url, timeout_seconds, pause_seconds)
