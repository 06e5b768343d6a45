"""How fast a purge is, and how long it keeps anybody waiting: rows a second, and the longest transaction.

``python -m bench.purge [intents]``: two or three minutes; loopback only; leaves nothing behind. Each intent
has one delivery, one attempt and one key, so there are four times as many rows; half of them are old.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import Any

from bench.surroundings import on_each_database

INTENTS = 125_000


def measure() -> None:
    """Print the rates of one database."""
    intents = int(sys.argv[1]) if len(sys.argv) > 1 else INTENTS
    for days in (40, 0):
        _store(intents // 2, days)
    _count()
    before = _rows()
    rates, longest = _purge()
    for step, (rows, seconds) in rates.items():
        print(f"  {step:<22} {rows:>9,} rows {rows / seconds:>9,.0f} rows/s")
    gone = before - _rows()
    print(f"  {'all':<22} {gone:>9,} rows gone of {before:,}")
    print(f"  {'longest transaction':<22} {longest * 1000:>9,.1f} ms")
    print(f"  {'a needless round':<22} {_needless() * 1000:>9,.1f} ms")


def _purge() -> tuple[dict[str, tuple[int, float]], float]:
    """Rows and seconds by step, and the longest batch: what is between two batches is no work."""
    from resetdelivery.domain.retention import PurgeStep
    from resetdelivery.retention import purge

    rows: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    longest, last = 0.0, time.perf_counter()

    def note(step: PurgeStep, taken: int) -> None:
        nonlocal longest, last
        took, last = time.perf_counter() - last, time.perf_counter()
        longest = max(longest, took)
        rows[step.value] += taken
        seconds[step.value] += took  # type: ignore[assignment]

    purge(limit=sys.maxsize, progress=note)
    return {step: (rows[step], seconds[step]) for step in rows}, longest


def _needless() -> float:
    from resetdelivery.retention import purge

    started = time.perf_counter()
    purge()
    return time.perf_counter() - started


def _rows() -> int:
    from resetdelivery.models import Attempt, Delivery, IdempotencyKey, ResetIntent

    return sum(model.objects.count() for model in (ResetIntent, Delivery, Attempt, IdempotencyKey))


def _count() -> None:
    """Say that all is in the totals; what counting costs is measured elsewhere."""
    from django.db import connection

    from resetdelivery.clock import database_now
    from resetdelivery.models import RollupState

    RollupState.objects.update_or_create(pk=1, defaults={"closed_before": database_now(connection)})
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")


def _store(number: int, days: int) -> None:
    """Closed intents of ``days`` ago, with all that belongs to them."""
    from django.db import connection

    from resetdelivery.clock import database_now

    at = database_now(connection)
    for first in range(0, number, 5000):
        _store_some(min(5000, number - first), at, days)


def _store_some(number: int, now: Any, days: int) -> None:
    import datetime as dt
    import uuid

    from resetdelivery.models import Attempt, Delivery, IdempotencyKey, ResetIntent

    at = now - dt.timedelta(days=days, seconds=60)
    later = at + dt.timedelta(minutes=15)
    closed = {"state": "closed", "closed_at": at, "created_at": at, "expires_at": later}
    intents = ResetIntent.objects.bulk_create(
        ResetIntent(account_ref="7", account_digest="k:0", template_version="1", locale="en", **closed)
        for _ in range(number)
    )
    deliveries = Delivery.objects.bulk_create(
        Delivery(intent=one, channel="email", state="accepted", due_at=at, expires_at=later, finished_at=at)
        for one in intents
    )
    measured = {"queue_delay_seconds": 0.1, "remaining_seconds": 800, "duration_seconds": 0.2}
    Attempt.objects.bulk_create(
        Attempt(
            delivery=one,
            number=1,
            token=1,
            started_at=at,
            outcome="accepted",
            transport="smtp",
            worker="one",
            provider_reference=f"<{one.reference}@shop>",
            **measured,
        )
        for one in deliveries
    )
    IdempotencyKey.objects.bulk_create(
        IdempotencyKey(client="local", key_digest=f"k:{uuid.uuid4()}", intent=one, created_at=at)
        for one in intents
    )


if __name__ == "__main__":
    on_each_database("bench.purge", measure)
