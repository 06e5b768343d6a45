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
EXTERNAL_READY = "working"
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

    def flower(self, port: int, **environment: str) -> Running:
        """Flower on ``port``, its API open: it binds to the loopback address only."""
        return self._start(
            "flower",
            *("-m", "celery", "-A", "tests.acceptance.worker_app", "flower"),
            *("--address=127.0.0.1", f"--port={port}"),
            FLOWER_UNAUTHENTICATED_API="true",
            **environment,
        )

    def beat(self, **environment: str) -> Running:
        """Celery's clock, with ticks every half second."""
        name = f"beat{next(self._numbers)}"
        schedule = self.folder / f"{name}-schedule"
        program = ("-m", "celery", "-A", "tests.acceptance.worker_app", "beat")
        return self._start(name, *program, "--schedule", str(schedule), **environment)

    def poller(self, *, dispatch: str = "database", **environment: str) -> Running:
        """``manage.py run_poller``, polling."""
        name = f"poller{next(self._numbers)}"
        program = ("manage.py", "run_poller")
        return self._ready(self._start(name, *program, DISPATCH=dispatch, **environment), POLLER_READY)

    def run(self, module: str, *arguments: str, **environment: str) -> None:
        """A Python module of the project, to its end; ``AssertionError`` with its log if it fails."""
        running = self._start(f"program{next(self._numbers)}", "-m", module, *arguments, **environment)
        assert running.exit_code() == 0, running.log.read_text()

    def shop(self, port: int, **environment: str) -> Running:
        """The public pages on ``port``, with its access log; they may not be there yet."""
        server = ("-m", "gunicorn", "config.wsgi:application", "--config", "config/gunicorn.py")
        return self._start("shop", *server, "--bind", f"127.0.0.1:{port}", WEB_CONCURRENCY="1", **environment)

    def command(self, *arguments: str, **environment: str) -> Running:
        """``manage.py`` with ``arguments``, running; what it prints is in its log."""
        return self._start(f"{arguments[0]}{next(self._numbers)}", "manage.py", *arguments, **environment)

    def internal_api(self, port: int, **environment: str) -> Running:
        """The private listener on ``port``; it may not listen yet."""
        server = ("-m", "gunicorn", "config.wsgi_internal:application", "--workers", "1", "--threads", "4")
        return self._start("internal", *server, "--bind", f"127.0.0.1:{port}", **environment)

    def external_worker(self, url: str, key: str, **environment: str) -> Running:
        """The example's worker, working; it knows the listener's ``url`` and the provider, no more."""
        name = f"external{next(self._numbers)}"
        running = start(
            *("-m", "examples.external_worker"),
            environment={
                **dict.fromkeys(self._environment(), ""),
                "PYTHONUNBUFFERED": "1",
                "INTERNAL_URL": url,
                "API_KEY": key,
                "SMTP_HOST": "127.0.0.1",
                "SMTP_PORT": str(self.provider.smtp_port),
                "SMTP_TLS": "none",
                "TWILIO_URL": self.provider.http_url,
                "TWILIO_SID": "AC00000000000000000000000000000000",
                "TWILIO_TOKEN": "a token for tests",
                "TWILIO_FROM": "+15005550006",
                **environment,
            },
            log=self.folder / f"{name}.log",
        )
        self._started.append(running)
        return self._ready(running, EXTERNAL_READY)

    def armed(self, *points: CrashPoint) -> CrashPoints:
        """Crash points of one worker, in a folder of their own."""
        folder = self.folder / f"points{next(self._numbers)}"
        folder.mkdir()
        found = CrashPoints(folder)
        for point in points:
            found.arm(point)
        return found

    def clear(self) -> None:
        """End every process that still runs, the last one to start first."""
        for running in reversed(self._started):
            running.end()
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
