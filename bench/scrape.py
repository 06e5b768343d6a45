"""How long Prometheus's page takes with ten million attempts stored, and how each statement reads.

``python -m bench.scrape``: about half an hour, nearly all of it for filling PostgreSQL; a million
attempts on SQLite. ``--attempts 100000`` fills both with fewer. ``--plans`` prints the plans as well.
Loopback only; leaves nothing behind.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from bench.history import build
from bench.surroundings import on_each_database, p50_p99

TIMES = 100


def measure() -> None:
    """Print the times of one database."""
    from django.db import connection

    from resetdelivery.telemetry.metrics.collector import page
    from resetdelivery.telemetry.metrics.counters import read_counters
    from resetdelivery.telemetry.metrics.scrape import scrape

    options = _options()
    build(options.attempts or {"postgresql": 10_000_000, "sqlite": 1_000_000}[connection.vendor])
    page()  # warms up
    size = len(page())
    _report("counters, from totals and open minutes", lambda: read_counters(connection))
    _report("a scrape, with the broker's answer", scrape)
    _report(f"the whole page, {size:,} bytes", page)
    _statements(connection, plans=options.plans)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attempts", type=int, default=0)
    parser.add_argument("--plans", action="store_true")
    parser.add_argument("--database", choices=["sqlite", "postgresql"], action="append")
    return parser.parse_args()


def _report(name: str, read: Callable[[], object]) -> None:
    took = []
    for _ in range(TIMES):
        started = time.perf_counter()
        read()
        took.append(time.perf_counter() - started)
    p50, p99 = p50_p99(took)
    print(f"  {name:<44} p50 {p50:7.2f} ms  p99 {p99:7.2f} ms")


def _statements(connection: Any, *, plans: bool) -> None:
    """The statements of one scrape with the time of each."""
    from resetdelivery.telemetry.metrics.scrape import scrape

    read: list[tuple[str, Any, float]] = []

    def note(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        started = time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            read.append((sql, params, time.perf_counter() - started))

    with connection.execute_wrapper(note):
        scrape()
    explain = {"postgresql": "EXPLAIN (ANALYZE, BUFFERS) ", "sqlite": "EXPLAIN QUERY PLAN "}
    with connection.cursor() as cursor:
        for sql, params, seconds in read:
            print(f"  {seconds * 1000:8.2f} ms  {' '.join(sql.split())[:96]}")
            if plans and sql.startswith("SELECT"):
                cursor.execute(explain[connection.vendor] + sql, params)
                print("\n".join(f"      {row[-1]}" for row in cursor.fetchall()))


if __name__ == "__main__":
    on_each_database("bench.scrape", measure, databases=_options().database or ("sqlite", "postgresql"))
