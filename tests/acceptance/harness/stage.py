"""Everything a scenario plays on: broker, provider, database, and the processes started on them."""

from __future__ import annotations

import itertools
from pathlib import Path

from notifications.testing.provider import FakeProvider
from tests.acceptance.harness.crash_points import CrashPoint, CrashPoints
from tests.acceptance.harness.processes import Running, start
from tests.acceptance.harness.redis_broker import RedisBroker
from tests.acceptance.harness.shared_database import database_url

WORKER_READY = "ready."
POLLER_READY = "polling"
THREADS = 4


class Stage:
    """Starts processes and ends them; ``folder`` takes their logs."""

    def __init__(self, *, folder: Path, broker: RedisBroker, provider: FakeProvider) -> None:
        self.folder = folder
        self.broker = broker
        self.provider = provider
        self._started: list[Running] = []
        self._numbers = itertools.count(1)

    def worker(
        self, queues: str = "email,sms", *, points: CrashPoints | None = None, **environment: str
    ) -> Running:
        """A Celery worker that is ready; it stops at the ``points`` that are armed."""
        return self._ready(self.starting_worker(queues, points=points, **environment), WORKER_READY)

    def starting_worker(
        self, queues: str = "email,sms", *, points: CrashPoints | None = None, **environment: str
    ) -> Running:
        """A Celery worker that may not be ready yet."""
        name = f"worker{next(self._numbers)}"
        pool = ("--pool", "threads", "-c", str(THREADS))
        quiet = ("--without-gossip", "--without-mingle")
        return self._start(
            name,
            *("-m", "celery", "-A", "tests.acceptance.worker_app", "worker", "-l", "info"),
            *("-Q", queues, "-n", f"{name}@acceptance", *pool, *quiet),
            CRASH_POINTS=str(points.folder) if points else "",
            **environment,
        )

    def flower(self, port: int) -> Running:
        """Flower on ``port``, its API open: it binds to the loopback address only."""
        return self._start(
            "flower",
            *("-m", "celery", "-A", "tests.acceptance.worker_app", "flower"),
            *("--address=127.0.0.1", f"--port={port}"),
            FLOWER_UNAUTHENTICATED_API="true",
        )

    def beat(self) -> Running:
        """Celery's clock, with ticks every half second."""
        name = f"beat{next(self._numbers)}"
        schedule = self.folder / f"{name}-schedule"
        return self._start(
            name, "-m", "celery", "-A", "tests.acceptance.worker_app", "beat", "--schedule", str(schedule)
        )

    def poller(self, *, dispatch: str = "database") -> Running:
        """``manage.py run_poller``, polling."""
        name = f"poller{next(self._numbers)}"
        return self._ready(self._start(name, "manage.py", "run_poller", DISPATCH=dispatch), POLLER_READY)

    def armed(self, *points: CrashPoint) -> CrashPoints:
        """Crash points of one worker, in a folder of their own."""
        folder = self.folder / f"points{next(self._numbers)}"
        folder.mkdir()
        found = CrashPoints(folder)
        for point in points:
            found.arm(point)
        return found

    def clear(self) -> None:
        """End every process that still runs."""
        for running in self._started:
            if running.is_alive:
                running.kill()
        self._started.clear()

    def _start(self, name: str, *arguments: str, **environment: str) -> Running:
        running = start(
            *arguments,
            environment={**self._environment(), **environment},
            log=self.folder / f"{name}.log",
        )
        self._started.append(running)
        return running

    def _ready(self, running: Running, words: str) -> Running:
        running.wait_until_log_says(words)
        return running

    def _environment(self) -> dict[str, str]:
        return {
            "DJANGO_SETTINGS_MODULE": "tests.acceptance.worker_settings",
            "DATABASE_URL": database_url(),
            "REDIS_URL": self.broker.url,
            "CELERY_BROKER_URL": self.broker.url,
            "SMTP_PORT": str(self.provider.smtp_port),
            "PROVIDER_URL": self.provider.http_url,
            "DISPATCH": "broker",
            "PYTHONUNBUFFERED": "1",
        }
