"""What the rollup costs: a pass that finds nothing new, a busy minute, and catching up with old attempts.

``python -m bench.rollup [attempts]``: a few minutes with the default million stored, half an hour with
``10000000``; loopback only; leaves nothing behind.
"""

from __future__ import annotations

import datetime as dt
import sys
import time
from collections.abc import Callable
from typing import Any

from bench import history
from bench.surroundings import changed, on_each_database, p50_p99

STORED = 1_000_000
BUSY = 20_000
TIMES = 5


def measure() -> None:
    """Print the times of one database."""
    stored = int(sys.argv[1]) if len(sys.argv) > 1 else STORED
    history.build(stored)
    _told("first pass, open minutes counted", _timed(_roll_up))
    _told("nothing new", min(_timed(_roll_up) for _ in range(TIMES)))
    _make_busy(stored)
    _told(f"{BUSY:,} attempts in an open minute", _timed(_roll_up))
    _told("the same, nothing new", min(_timed(_roll_up) for _ in range(TIMES)))
    with changed(ROLLUP_CLOSE_AFTER=dt.timedelta(minutes=1)):
        _told("all open minutes closed", _timed(_roll_up))
    _catch_up()


def _make_busy(stored: int) -> None:
    """Move the newest attempts into the oldest minute that is open, with all that is told of them."""
    from resetdelivery.models import Attempt, Delivery, ResetIntent
    from resetdelivery.telemetry.watermark import closed_before

    start = closed_before()
    assert start is not None
    # One moment is as good as another: what is counted is the minute.
    at = start + dt.timedelta(seconds=30)
    ends = at + dt.timedelta(minutes=15)
    newest = {"pk__gt": stored - BUSY, "pk__lte": stored}
    Attempt.objects.filter(**newest).update(started_at=at, finished_at=at)
    Delivery.objects.filter(**newest).update(finished_at=at, expires_at=ends)
    ResetIntent.objects.filter(**newest).update(created_at=at, expires_at=ends)


def _catch_up() -> None:
    """Forget all counts, as before the first rollup, and see how far each pass gets."""
    from resetdelivery.models import EventMinute, EventTotal, OutcomeMinute, OutcomeTotal, RollupState

    for model in (EventMinute, EventTotal, OutcomeMinute, OutcomeTotal):
        model._default_manager.all().delete()
    RollupState.objects.update(closed_before=None)
    passes, behind = [], True
    started = time.perf_counter()
    while behind:
        began = time.perf_counter()
        behind = _roll_up().behind
        passes.append(time.perf_counter() - began)
    seconds = time.perf_counter() - started
    counted = sum(OutcomeTotal.objects.values_list("attempts", flat=True))
    p50, _ = p50_p99(passes)
    _told(f"a pass of catching up, of {len(passes)}", p50 / 1000)
    print(f"  {'attempts caught up with':<36} {counted / seconds:>10,.0f} /s")


def _roll_up() -> Any:
    from resetdelivery.telemetry.rollup import roll_up

    return roll_up()


def _timed(step: Callable[[], object]) -> float:
    started = time.perf_counter()
    step()
    return time.perf_counter() - started


def _told(name: str, seconds: float) -> None:
    print(f"  {name:<36} {seconds * 1000:>10,.1f} ms")


if __name__ == "__main__":
    on_each_database("bench.rollup", measure)
