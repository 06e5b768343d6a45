"""What beat and the poller run again and again, each by itself, with a note of when it last succeeded."""

from __future__ import annotations

import time

from resetdelivery import recovery, retention
from resetdelivery.conf import Recovery, get_settings
from resetdelivery.domain.telemetry import Job
from resetdelivery.telemetry import rollup, traces
from resetdelivery.telemetry.jobs import recorded, succeeded


def sweep(*, using: str | None = None) -> None:
    """Put back abandoned work; where ``RECOVERY`` is off nothing runs, and nothing is noted."""
    if get_settings().recovery is Recovery.OFF:
        return
    with recorded(Job.SWEEP, using=using):
        recovery.sweep(using=using)


def expire_overdue(*, using: str | None = None) -> None:
    """End work that is past help."""
    with recorded(Job.EXPIRE_OVERDUE, using=using):
        recovery.expire_overdue(using=using)


def roll_up(*, using: str | None = None) -> None:
    """Count what happened by the minute, and close the minutes that are over.

    A run that found somebody else at it is none: that one notes how it ends.
    """
    started = time.monotonic()
    if not rollup.roll_up(using=using).busy:
        succeeded(Job.ROLL_UP, took_seconds=time.monotonic() - started, using=using)


def purge(*, using: str | None = None) -> None:
    """Delete what is no longer of use. What is not rolled up yet stays for the next time."""
    with recorded(Job.PURGE, using=using):
        retention.purge(using=using)


def export_traces(*, using: str | None = None) -> None:
    """Export the traces of what ended. What the collector refuses stays for the next time: no success."""
    started = time.monotonic()
    if traces.is_on() and not traces.export_closed(using=using).refused:
        succeeded(Job.EXPORT_TRACES, took_seconds=time.monotonic() - started, using=using)
