"""Threads that meet at one point, and the facts that say they got there."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from django.db import connection, connections
from django.db.backends.utils import CursorWrapper

T = TypeVar("T")

CEILING_SECONDS = 30.0
_WAITING = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()
"""


def wait_until(fact: Callable[[], bool]) -> None:
    """Return once ``fact`` holds; fail after a generous while."""
    ends = time.monotonic() + CEILING_SECONDS
    while not fact():
        assert time.monotonic() < ends, "what was waited for did not happen"
        threading.Event().wait(0.005)


def waiting() -> int:
    """How many other connections wait for a lock, as PostgreSQL says."""
    with connection.cursor() as cursor:
        cursor.execute(_WAITING)
        return int(cursor.fetchone()[0])


def alone(step: Callable[[], T]) -> T:
    """Run a step with the connections of its own thread, and close them."""
    try:
        return step()
    finally:
        connections.close_all()


def together(*steps: Callable[[], T]) -> list[T]:
    """Run the steps in a thread each, all starting at one moment; their results in order."""
    barrier = threading.Barrier(len(steps))

    def start(step: Callable[[], T]) -> T:
        barrier.wait(CEILING_SECONDS)
        return step()

    with ThreadPoolExecutor(len(steps)) as pool:
        running = [pool.submit(alone, lambda step=step: start(step)) for step in steps]
        return [one.result(CEILING_SECONDS) for one in running]


@contextmanager
def holding() -> Iterator[CursorWrapper]:
    """A transaction on a connection of its own: it holds what it locks until the block ends."""
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("BEGIN")
            yield cursor
            cursor.execute("COMMIT")
    finally:
        other.close()


def behind(
    lock: str, params: Sequence[str | int], *steps: Callable[[], T], waiters: int | None = None
) -> list[T]:
    """Take ``lock``, let the steps run into it, and let them go together; their results in order.

    ``waiters`` is how many of them must be seen waiting for it, all unless told otherwise.
    """
    with ThreadPoolExecutor(len(steps)) as pool:
        running: list[Future[T]] = []
        with holding() as cursor:
            cursor.execute(lock, params)
            running += [pool.submit(alone, step) for step in steps]
            wait_until(lambda: waiting() == (len(steps) if waiters is None else waiters))
        return [one.result(CEILING_SECONDS) for one in running]
