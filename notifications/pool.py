"""Idle connections, kept for the next submission."""

from __future__ import annotations

import os
import select
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from notifications.deadline import boot_seconds


class Connection(Protocol):
    """What a pool needs of a connection: its socket (``None`` once closed) and an end."""

    @property
    def sock(self) -> socket.socket | None:
        """The socket, to ask whether the other side hung up."""
        ...

    def close(self) -> None:
        """Close at once, without a good-bye."""
        ...


C = TypeVar("C", bound=Connection)


@dataclass(slots=True, kw_only=True)
class Lease(Generic[C]):
    """A connection in one thread's hands; ``uses`` counts finished submissions on it."""

    connection: C
    uses: int = 0
    idle_since: float = 0.0


class Pool(Generic[C]):
    """At most ``size`` idle connections, the most recently used first; safe between threads.

    Last in, first out keeps few connections warm and lets the others age out. A connection is
    dropped when it was idle for ``max_idle_seconds`` (choose less than the provider's own
    limit), after ``max_uses`` submissions, when it is readable while idle (the other side
    closed it, or said 421), and after a fork, because parent and child would share it.
    """

    def __init__(
        self,
        *,
        size: int,
        max_idle_seconds: float,
        max_uses: int,
        clock: Callable[[], float] = boot_seconds,
    ) -> None:
        self._size = size
        self._max_idle_seconds = max_idle_seconds
        self._max_uses = max_uses
        self._clock = clock
        self._lock = threading.Lock()
        self._idle: list[Lease[C]] = []
        self._pid = os.getpid()

    def take(self) -> Lease[C] | None:
        """A connection that still looks alive, or ``None``: then open one."""
        while (lease := self._pop()) is not None:
            if self._is_fresh(lease) and not hung_up(lease.connection):
                return lease
            lease.connection.close()
        return None

    def give(self, lease: Lease[C]) -> None:
        """Keep a connection on which one more submission ended cleanly, or close it."""
        lease.uses += 1
        lease.idle_since = self._clock()
        if lease.connection.sock is None or lease.uses >= self._max_uses or not self._push(lease):
            lease.connection.close()

    def drain(self) -> list[C]:
        """Every idle connection, for the caller to say good-bye to; the pool is empty then."""
        with self._lock:
            self._forget_after_fork()
            leases, self._idle = self._idle, []
        return [lease.connection for lease in leases]

    def _pop(self) -> Lease[C] | None:
        with self._lock:
            self._forget_after_fork()
            return self._idle.pop() if self._idle else None

    def _push(self, lease: Lease[C]) -> bool:
        with self._lock:
            self._forget_after_fork()
            if len(self._idle) >= self._size:
                return False
            self._idle.append(lease)
            return True

    def _forget_after_fork(self) -> None:
        if self._pid == os.getpid():
            return
        self._pid = os.getpid()
        inherited, self._idle = self._idle, []
        for lease in inherited:
            lease.connection.close()

    def _is_fresh(self, lease: Lease[C]) -> bool:
        return self._clock() - lease.idle_since < self._max_idle_seconds


def hung_up(connection: Connection) -> bool:
    """Whether an idle connection is closed, or has something to say that nobody asked for."""
    if connection.sock is None:
        return True
    poll = select.poll()
    poll.register(connection.sock, select.POLLIN)
    return bool(poll.poll(0))
