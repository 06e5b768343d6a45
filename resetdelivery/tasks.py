"""Entry points for Celery workers: ids in, nothing out. What they do lives elsewhere.

They are acknowledged early, never retried by Celery, and leave no result: the row is the record.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import ParamSpec

from celery import Task, shared_task

from notifications.channels import Channel
from resetdelivery import delivery, dispatch, recovery, upkeep
from resetdelivery.conf import get_settings
from resetdelivery.exceptions import without_text
from resetdelivery.logs import get_logger
from resetdelivery.throttles import conversion

log = get_logger("resetdelivery.tasks")

#: A task under constant load hands over to the next hint after this long. Its last batch may
#: take a few send budgets more, which is what the pinned time limits leave room for.
TASK_SECONDS = 20.0

P = ParamSpec("P")


def _task(name: str) -> Callable[[Callable[P, None]], Task[P, None]]:
    """A shared task with every option pinned that a host's own defaults could change.

    What it raises, Celery logs and Flower shows: only the error's class and place get out.
    """
    register: Callable[[Callable[P, None]], Task[P, None]] = shared_task(
        name=name,
        acks_late=False,
        reject_on_worker_lost=False,
        ignore_result=True,
        max_retries=0,
        serializer="json",
        track_started=False,
        soft_time_limit=150,
        time_limit=180,
    )

    def registered(run: Callable[P, None]) -> Task[P, None]:
        @functools.wraps(run)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
            without_text(run, *args, **kwargs)

        return register(guarded)

    return registered


@_task(dispatch.DELIVER_TASK)
def deliver(channel: object = None, ids: object = None, *_: object, **__: object) -> None:
    """Deliver what is due on a channel, the named rows first; a malformed hint is dropped."""
    named = _channel(channel)
    if named is None:
        log.warning("malformed_hint_dropped")
        return
    stop_at = time.monotonic() + TASK_SECONDS
    delivery.deliver(named, _ids(ids), until=lambda: time.monotonic() > stop_at)
    if time.monotonic() > stop_at:
        dispatch.hint(named, [])


@_task("resetdelivery.wake_due")
def wake_due() -> None:
    """Publish hints for retries whose time has come."""
    recovery.wake_due()


@_task("resetdelivery.sweep")
def sweep() -> None:
    """Put back abandoned work."""
    upkeep.sweep()


@_task("resetdelivery.expire_overdue")
def expire_overdue() -> None:
    """End work that is past help."""
    upkeep.expire_overdue()


@_task("resetdelivery.check_conversion")
def check_conversion() -> None:
    """Warn of ranges of numbers whose text messages lead to no resets."""
    conversion.check_conversion()


@_task("resetdelivery.roll_up")
def roll_up() -> None:
    """Count what happened by the minute."""
    upkeep.roll_up()


@_task("resetdelivery.export_traces")
def export_traces() -> None:
    """Export the traces of what ended."""
    upkeep.export_traces()


@_task("resetdelivery.purge")
def purge() -> None:
    """Delete what is no longer of use."""
    upkeep.purge()


def _channel(name: object) -> Channel | None:
    configured = get_settings().channels
    return next((channel for channel in configured if channel.value == name), None)


def _ids(ids: object) -> list[int]:
    """The row ids of a hint; what is none is left out, for the rows themselves say what is due."""
    if not isinstance(ids, list):
        return []
    return [i for i in ids if isinstance(i, int) and not isinstance(i, bool) and 0 < i < 2**63]
