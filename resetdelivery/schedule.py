"""Beat entries to import into a project's ``CELERY_BEAT_SCHEDULE``.

Each tick expires after its own period: ticks missed while the control worker was away are
dropped, for the next tick sees everything that they would have seen.
"""

from __future__ import annotations

from typing import Any

#: Between two runs, where a project says nothing else.
WAKE_SECONDS, SWEEP_SECONDS = 1.0, 10.0


def beat_schedule(
    *, queue: str = "control", wake_seconds: float = WAKE_SECONDS, sweep_seconds: float = SWEEP_SECONDS
) -> dict[str, dict[str, Any]]:
    """The periodic tasks: wake due retries, sweep and expire work, count and clean up."""
    return {
        f"resetdelivery {name}": {
            "task": f"resetdelivery.{name}",
            "schedule": seconds,
            "options": {"queue": queue, "expires": seconds, "ignore_result": True},
        }
        for name, seconds in (
            ("wake_due", wake_seconds),
            ("sweep", sweep_seconds),
            ("expire_overdue", sweep_seconds),
            ("check_conversion", 300.0),
            ("roll_up", 10.0),
            ("export_traces", 10.0),
            ("purge", 600.0),
        )
    }


BEAT_SCHEDULE = beat_schedule()
