"""The run's own Redis: killed, frozen, emptied and started again at a test's wish."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from urllib.parse import urlsplit

import redis

from examples.demo.embedded import start_redis
from tests.acceptance.harness.waiting import CEILING_SECONDS

#: The transport options' ``global_keyprefix``.
PREFIX = "resetdelivery:"


class RedisBroker:
    """A Redis that nobody else uses, never one that an address in the environment names."""

    def __init__(self, folder: Path) -> None:
        self._server = start_redis(folder, environ={})

    @property
    def url(self) -> str:
        """Its address, with the password."""
        return self._server.url

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return urlsplit(self.url).port or 0

    def flush(self) -> None:
        """FLUSHALL."""
        with self._client() as client:
            client.flushall()

    def messages(self, queue: str) -> list[bytes]:
        """The raw messages that wait in ``queue``, the next one last."""
        with self._client() as client:
            return list(client.lrange(PREFIX + queue, 0, -1))

    def put(self, queue: str, *messages: bytes) -> None:
        """Raw messages to the end of ``queue``."""
        with self._client() as client:
            client.lpush(PREFIX + queue, *messages)

    def kill(self) -> None:
        """SIGKILL: connections are refused from now on."""
        self._signal(signal.SIGKILL)
        assert self._server.process is not None
        self._server.process.wait(CEILING_SECONDS)

    def freeze(self) -> None:
        """SIGSTOP: connections are taken and never answered."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """SIGCONT."""
        self._signal(signal.SIGCONT)

    def start_again(self) -> None:
        """The same port, empty; nothing happens if it runs."""
        if self._server.process is not None and self._server.process.poll() is not None:
            self._server = self._server.start_again()

    def stop(self) -> None:
        """The end."""
        self._server.stop()

    def _signal(self, number: signal.Signals) -> None:
        assert self._server.process is not None
        if self._server.process.poll() is None:
            os.kill(self._server.process.pid, number)

    def _client(self) -> redis.Redis[bytes]:
        return redis.Redis.from_url(self.url, socket_timeout=5)
