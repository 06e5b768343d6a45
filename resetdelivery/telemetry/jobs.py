"""When periodic work last succeeded. What fails leaves no trace here: its age is the alarm."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connections, router

from resetdelivery.clock import now_sql
from resetdelivery.domain.telemetry import Job
from resetdelivery.models import JobRun

RUN = JobRun._meta.db_table


def succeeded(job: Job, *, took_seconds: float, using: str | None = None) -> None:
    """Write down that ``job`` came to its end just now."""
    connection = connections[using or router.db_for_write(JobRun)]
    now = now_sql(connection)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            INSERT INTO {RUN} (name, succeeded_at, took_seconds) VALUES (%s, {now}, %s)
            ON CONFLICT (name) DO UPDATE
            SET succeeded_at = excluded.succeeded_at, took_seconds = excluded.took_seconds
            """,
            [job.value, took_seconds],
        )


@contextmanager
def recorded(job: Job, *, using: str | None = None) -> Iterator[None]:
    """Write down that what happens inside succeeded, unless it raises."""
    started = time.monotonic()
    yield
    succeeded(job, took_seconds=time.monotonic() - started, using=using)
