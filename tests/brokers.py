"""Brokers for tests: one that only writes down, one that never answers, and what lies in a real one."""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence
from typing import Any

import redis

from examples.demo.ports import LOOPBACK
from resetdelivery import broker


class Queue:
    """Stands where the broker is: what was published, and what it is made to answer."""

    def __init__(self) -> None:
        self.hints: list[tuple[str, list[int]]] = []
        self.length = 0
        self.is_up = True
        self.takes_messages = True

    def queue_length(self, queue: str) -> int:
        if not self.is_up:
            raise broker.BrokerUnavailable
        return self.length

    def publish(self, task: str, args: Sequence[Any], *, queue: str) -> None:
        if not (self.is_up and self.takes_messages):
            raise broker.BrokerUnavailable
        self.hints.append((args[0], args[1]))

    @property
    def ids(self) -> list[int]:
        return sorted(i for _, ids in self.hints for i in ids)


class Stalled:
    """Accepts connections and never answers; how many it accepted."""

    def __init__(self) -> None:
        self._listener = socket.create_server((LOOPBACK, 0))
        self._accepted: list[socket.socket] = []
        self._closing = False
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()
        self.url = f"redis://{LOOPBACK}:{self._listener.getsockname()[1]}/0"

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            self._accepted.append(connection)
            if self._closing:
                return

    @property
    def connections(self) -> int:
        return len(self._accepted)

    def close(self) -> None:
        self._closing = True
        with socket.create_connection(self._listener.getsockname()):
            self._thread.join(10)
        self._listener.close()
        for connection in self._accepted:
            connection.close()


def everything(client: redis.Redis[bytes]) -> bytes:
    """All keys of a Redis with all that is in them."""
    found = []
    for key in client.keys("*"):
        kind: bytes = client.type(key)  # type: ignore[no-untyped-call]
        if kind == b"none":  # gone since it was listed
            continue
        read = {
            b"list": lambda k: b"\n".join(client.lrange(k, 0, -1)),
            b"set": lambda k: b"\n".join(client.smembers(k)),
            b"hash": lambda k: b"\n".join(x for item in client.hgetall(k).items() for x in item),
            b"zset": lambda k: b"\n".join(client.zrange(k, 0, -1)),
            b"string": client.get,
        }[kind]
        found.append(key + b"\n" + (read(key) or b""))
    return b"\n".join(found)
