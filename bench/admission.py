"""How long ``request_reset`` takes while the broker is well, busy, dead or stalled.

``python -m bench.admission``: about half a minute; loopback only; leaves nothing behind.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Sequence

from bench.surroundings import changed, make_accounts, on_each_database, p50_p99
from examples.demo.ports import LOOPBACK, pick

REQUESTS = 300


def measure() -> None:
    """Print the times of one database."""
    refs = make_accounts(5 * REQUESTS)
    with changed(DISPATCH="database"):
        _requests(_some(refs, 50))  # warms up
        baseline = _report("no broker at all", _requests(_some(refs, REQUESTS)))
    with changed(HINT_BACKLOG=10**6):
        _report("a hint for each", _requests(_some(refs, REQUESTS)), baseline)
    with changed(HINT_BACKLOG=1):
        _report("enough hints wait", _requests(_some(refs, REQUESTS)), baseline)
    _without_a_broker("dead", f"redis://{LOOPBACK}:{pick()}/0", refs, baseline)
    with socket.create_server((LOOPBACK, 0)) as stalled:
        url = f"redis://{LOOPBACK}:{stalled.getsockname()[1]}/0"
        _without_a_broker("stalled", url, refs, baseline)


def _some(refs: list[str], number: int) -> list[str]:
    return [refs.pop() for _ in range(number)]


def _without_a_broker(name: str, url: str, refs: list[str], baseline: float) -> None:
    import kombu.pools

    from resetdelivery import broker

    os.environ["CELERY_BROKER_URL"] = url
    kombu.pools.reset()
    broker.breaker().reset()
    (first,) = _requests([refs.pop()])
    print(f"  {name + ', first':<24} {first * 1000:12.2f} ms")
    broker.breaker().trip()
    _report(f"{name}, breaker open", _requests(_some(refs, REQUESTS // 2)), baseline)


def _requests(refs: Sequence[str]) -> list[float]:
    from resetdelivery.services import request_reset

    took = []
    for ref in refs:
        started = time.perf_counter()
        request_reset(account_ref=ref, channels=["email"])
        took.append(time.perf_counter() - started)
    return took


def _report(name: str, took: Sequence[float], baseline: float | None = None) -> float:
    p50, p99 = p50_p99(took)
    ratio = f"  {p50 / baseline:5.2f} x" if baseline else ""
    print(f"  {name:<24} p50 {p50:8.2f} ms  p99 {p99:8.2f} ms{ratio}")
    return p50


if __name__ == "__main__":
    on_each_database("bench.admission", measure)
