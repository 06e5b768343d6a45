"""How often somebody looks at the rows again: beat's entries at the broker, else settings."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings as django_settings

from resetdelivery.conf import Dispatch, Settings
from resetdelivery.schedule import SWEEP_SECONDS, WAKE_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """Seconds between two runs, and what says so."""

    seconds: float
    source: str


def sweep_period(settings: Settings, boundary: Dispatch) -> Period:
    """Between two sweeps; ``SWEEP_INTERVAL`` is the poller's alone."""
    if boundary is Dispatch.BROKER:
        return _of_beat("sweep", SWEEP_SECONDS)
    return Period(seconds=settings.sweep_interval.total_seconds(), source="SWEEP_INTERVAL")


def wake_period(settings: Settings, boundary: Dispatch) -> Period:
    """Between two looks at what a backoff has made due."""
    if boundary is Dispatch.BROKER:
        return _of_beat("wake_due", WAKE_SECONDS)
    return Period(seconds=settings.poll_interval.total_seconds(), source="POLL_INTERVAL")


def _of_beat(name: str, usual: float) -> Period:
    """As the project's ``CELERY_BEAT_SCHEDULE`` has the task, or as ``beat_schedule`` would by itself."""
    found = list(_periods(getattr(django_settings, "CELERY_BEAT_SCHEDULE", None), f"resetdelivery.{name}"))
    if found:
        return Period(seconds=min(found), source=f"{name} in CELERY_BEAT_SCHEDULE")
    return Period(seconds=usual, source=f"{name}, as beat_schedule has it")


def _periods(schedule: object, task: str) -> Iterator[float]:
    entries = schedule.values() if isinstance(schedule, Mapping) else ()
    for entry in entries:
        if isinstance(entry, Mapping) and entry.get("task") == task:
            seconds = _seconds(entry.get("schedule"))
            if seconds is not None:
                yield seconds


def _seconds(every: Any) -> float | None:
    """Of a number, a duration or Celery's ``schedule``; a crontab has no one period."""
    every = getattr(every, "run_every", every)
    if isinstance(every, dt.timedelta):
        return every.total_seconds()
    return float(every) if isinstance(every, (int, float)) else None
