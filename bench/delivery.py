"""How fast resets leave: from the commit to the acceptance at light load, and from a backlog.

``python -m bench.delivery``: about a minute; the provider is a fake that accepts at once;
loopback only; leaves nothing behind.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bench.surroundings import changed, make_accounts, on_each_database, p50_p99

BACKLOG = 2000
#: Rows for the slow way to do it, one at a time.
SINGLE = 300
LIGHT = 60
LIGHT_PAUSE_SECONDS = 0.05
CEILING_SECONDS = 30.0


def measure() -> None:
    """Print the times of one database."""
    single = _backlog("one row at a time", SINGLE, CLAIM_LIMIT=1)
    batched = _backlog("fifty rows, waves of sixteen", BACKLOG)
    print(f"  {'':<32} {batched / single:8.2f} x")
    _light_load()


def _backlog(name: str, number: int, **values: Any) -> float:
    from notifications.channels import Channel
    from resetdelivery.delivery import deliver
    from resetdelivery.services import request_reset

    with changed(DISPATCH="database", CHANNELS=_channels(), **values):
        for ref in make_accounts(number):
            request_reset(account_ref=ref, channels=["email"])
        started = time.perf_counter()
        delivered = deliver(Channel.EMAIL, fill_at_once=True)
        rate = delivered / (time.perf_counter() - started)
    print(f"  {name:<32} {rate:8.0f} deliveries/s ({delivered})")
    return rate


def _channels() -> dict[str, Any]:
    return {"email": {"TRANSPORT": "notifications.testing.ScriptedTransport"}}


def _light_load() -> None:
    """Requests one after the other, delivered by a Celery worker in this process."""
    from resetdelivery.services import request_reset

    refs = make_accounts(LIGHT)
    with changed(CHANNELS=_channels()), _settled_moments() as settled, _worker():
        committed: dict[str, float] = {}
        for ref in refs:
            reference = request_reset(account_ref=ref, channels=["email"]).reference
            committed[str(reference)] = time.perf_counter()
            time.sleep(LIGHT_PAUSE_SECONDS)
        _wait_until(lambda: len(settled) >= LIGHT)
    p50, p99 = p50_p99([settled[name] - at for name, at in committed.items()])
    print(f"  {'commit to accepted, light load':<32} p50 {p50:6.1f} ms  p99 {p99:6.1f} ms")


@contextmanager
def _settled_moments() -> Iterator[dict[str, float]]:
    """When each intent's attempt was settled: the attempt's log line follows that commit."""
    from resetdelivery.telemetry import attempt_log

    moments: dict[str, float] = {}
    plain = attempt_log.write

    def note(settled: Any, *rest: Any) -> None:
        reference = settled.result.marked.claimed.intent_reference
        moments[str(reference)] = time.perf_counter()
        plain(settled, *rest)

    attempt_log.write = note
    try:
        yield moments
    finally:
        attempt_log.write = plain


@contextmanager
def _worker() -> Iterator[None]:
    from celery.contrib.testing.worker import start_worker

    from config.celery import app

    with start_worker(app, pool="threads", concurrency=2, perform_ping_check=False, queues=["email"]):
        yield


def _wait_until(fact: Callable[[], bool]) -> None:
    ends = time.monotonic() + CEILING_SECONDS
    while not fact():
        if time.monotonic() > ends:
            raise TimeoutError("The worker did not deliver everything in time.")
        time.sleep(0.01)


if __name__ == "__main__":
    on_each_database("bench.delivery", measure)
