"""How long delivery's health takes to tell, with ten million attempts stored.

``python -m bench.health``: a quarter of an hour, nearly all of it to build the data;
``--postgresql 1000000`` and ``--sqlite 1000000`` for fewer attempts, 0 for none of that database.
Prints how each statement is run as well, and the time that PostgreSQL itself needs for it. Times are
those of this machine as it is: of use only where nothing else runs. Loopback only; leaves nothing behind.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from bench import history
from bench.surroundings import changed, on_each_database

ROUNDS = 300


def measure() -> None:
    """Print the times and plans of one database."""
    from django.db import connection

    from resetdelivery.domain.health import WINDOWS
    from resetdelivery.telemetry.health import delivery_health

    history.build(_sizes()[connection.vendor])
    _print_row("milliseconds", ["p50", "p95", "p99", "max", "cpu"])
    for name, window in WINDOWS.items():
        _print_row(name, _times(lambda window=window: delivery_health(window)))  # type: ignore[misc]
    with changed(DISPATCH="database"):
        _print_row("1h, without the broker", _times(lambda: delivery_health(WINDOWS["1h"])))
    _explain(connection, lambda: delivery_health(WINDOWS["1h"]))


def _times(step: Callable[[], object]) -> list[str]:
    """Percentiles of the time, and the processor time that one call takes in this process."""
    step()
    seconds, used = [], time.process_time()
    for _ in range(ROUNDS):
        started = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - started)
    ordered, mean_used = sorted(seconds), (time.process_time() - used) / ROUNDS
    picked = [ordered[int(share * (ROUNDS - 1))] for share in (0.5, 0.95, 0.99, 1.0)]
    return [f"{value * 1000:.2f}" for value in (*picked, mean_used)]


def _print_row(name: str, cells: list[str]) -> None:
    print(f"  {name:<24}" + "".join(f"{cell:>9}" for cell in cells))


def _explain(connection: Any, step: Callable[[], object]) -> None:
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as captured:
        step()
    explain = {"postgresql": "EXPLAIN (ANALYZE, COSTS OFF) ", "sqlite": "EXPLAIN QUERY PLAN "}
    for sql in [query["sql"] for query in captured.captured_queries if "FROM" in query["sql"]]:
        with connection.cursor() as cursor:
            cursor.execute(explain[connection.vendor] + sql)
            print("", *(f"  {row[-1]}" for row in cursor.fetchall()), sep="\n")


def _sizes() -> dict[str, int]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--postgresql", type=int, default=10_000_000, metavar="ATTEMPTS")
    parser.add_argument("--sqlite", type=int, default=10_000_000, metavar="ATTEMPTS")
    return vars(parser.parse_args())


if __name__ == "__main__":
    on_each_database("bench.health", measure, databases=[name for name, size in _sizes().items() if size])
