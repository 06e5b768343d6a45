"""The project's Celery app, with crash points where the environment asks for them.

Start a worker with ``celery -A tests.acceptance.worker_app worker …``.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from celery.signals import task_postrun, task_prerun, worker_init

from config.celery import app
from tests.acceptance.harness.crash_points import CrashPoint, CrashPoints

__all__ = ["app"]


def install(points: CrashPoints) -> None:
    """Stop at ``points`` in this process: around the task, and after each step of a delivery."""
    # Here and not above: Django is not set up yet when Celery imports this module.
    from notifications.email.smtp import SmtpTransport
    from notifications.sms.twilio import TwilioTransport
    from resetdelivery import delivery

    for owner, name, point in (
        (delivery, "claim", CrashPoint.CLAIMED),
        (delivery, "mark", CrashPoint.MARKED),
        (SmtpTransport, "submit", CrashPoint.ACCEPTED),
        (TwilioTransport, "submit", CrashPoint.ACCEPTED),
        (delivery, "settle", CrashPoint.SETTLED),
    ):
        setattr(owner, name, _followed_by(points, point, getattr(owner, name)))
    # A task starts after its message was popped and acknowledged.
    task_prerun.connect(lambda **_: points.meet(CrashPoint.POPPED), weak=False)
    task_postrun.connect(lambda **_: points.meet(CrashPoint.FINISHED), weak=False)


def _followed_by(points: CrashPoints, point: CrashPoint, step: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(step)
    def step_then_point(*args: Any, **kwargs: Any) -> Any:
        result = step(*args, **kwargs)
        points.meet(point)
        return result

    return step_then_point


@worker_init.connect(weak=False)
def _install_asked_for(**_: object) -> None:
    if folder := os.environ.get("CRASH_POINTS"):
        install(CrashPoints(Path(folder)))
