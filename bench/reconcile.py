"""How long a reconciliation takes, with a million attempts of the last week stored.

``python -m bench.reconcile``: a few minutes, most of it to build the data; ``--attempts`` for another
number. What is built is not what the rollup would have counted, so that differences are found: only
the times mean something. Loopback only; leaves nothing behind.
"""

from __future__ import annotations

import argparse
import datetime as dt
import time

from bench import history
from bench.surroundings import on_each_database

WINDOWS = {
    "1m": dt.timedelta(minutes=1),
    "1h": dt.timedelta(hours=1),
    "1d": dt.timedelta(days=1),
    "7d": dt.timedelta(days=7),
}


def measure() -> None:
    """Print the times of one database."""
    from resetdelivery.reconciliation import reconcile

    history.build(_attempts())
    for name, window in WINDOWS.items():
        started = time.perf_counter()
        report = reconcile(window)
        print(f"  {name:<4}{time.perf_counter() - started:>8.2f} s  {len(report.balances)} balances")


def _attempts() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attempts", type=int, default=1_000_000)
    return int(parser.parse_args().attempts)


if __name__ == "__main__":
    on_each_database("bench.reconcile", measure)
