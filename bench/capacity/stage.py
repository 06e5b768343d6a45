"""The real thing on the loopback address: PostgreSQL, Redis, a mail server, workers with a set latency."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.boundaries.cpu import seconds_by_role
from bench.capacity.measured import Delivered
from bench.surroundings import changed, make_accounts
from examples.demo.child import Command
from examples.demo.embedded import Server, start_postgres, start_redis
from examples.demo.programs import Place
from examples.demo.server import launch

CEILING_SECONDS = 60.0
LOOK_SECONDS = 0.1
_EMPTY = (
    "DELETE FROM resetdelivery_attempt",
    "DELETE FROM resetdelivery_idempotencykey",
    "DELETE FROM resetdelivery_delivery WHERE intent_id > %(kept)s",
    "DELETE FROM resetdelivery_resetintent WHERE id > %(kept)s",
    "DELETE FROM resetdelivery_limituse",
)
_AT_THEIR_END = (
    "UPDATE resetdelivery_delivery SET state = 'accepted', finished_at = now()",
    "UPDATE resetdelivery_resetintent SET state = 'closed', closed_at = now()",
)
#: As they were right after their admission, the first ``number`` of them.
_ANEW = (
    "UPDATE resetdelivery_resetintent SET state = 'open', closed_at = NULL WHERE id <= %(number)s",
    "UPDATE resetdelivery_delivery SET state = 'pending', claims = 0, attempts = 0, outcome = '', "
    "reason = '', finished_at = NULL, due_at = now(), hinted_at = NULL WHERE intent_id <= %(number)s",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineup:
    """What is started; ``latency`` and ``deviation`` in seconds are the provider's."""

    workers: int
    concurrency: int
    wave: int
    latency: float
    deviation: float = 0.0
    #: Whole waves of 4, 8 and 16, so that a backlog leaves at an even pace.
    claim_limit: int = 48

    def __str__(self) -> str:
        answer = f"{self.latency * 1000:g} ± {self.deviation * 1000:g} ms"
        return f"{self.workers} x {self.concurrency}, wave {self.wave}, {answer}"


class Running:
    """Workers that are up."""

    def __init__(self, lineup: Lineup, kept: int, accounts: Sequence[str], pids: Mapping[str, int]) -> None:
        self.lineup = lineup
        self._kept = kept
        self._accounts = accounts
        self._pids = pids

    def backlog(self, number: int) -> Delivered:
        """Deliver ``number`` rows that wait already; a hint for each thread starts them all."""
        from notifications.channels import Channel
        from resetdelivery.dispatch import publish_hint

        self._empty()
        _execute(_ANEW, number=number)
        before = self._cpu()
        for _ in range(self.lineup.workers * self.lineup.concurrency):
            publish_hint(Channel.EMAIL, [])
        return self._delivered(number, before)

    def arrivals(self, offsets: Sequence[float]) -> Delivered:
        """Admit a reset at each of ``offsets`` (seconds), however the workers do; wait for the last."""
        from resetdelivery.services import request_reset

        self._empty()
        before, began, behind = self._cpu(), time.perf_counter(), 0.0
        for offset, ref in zip(offsets, self._accounts, strict=False):
            time.sleep(max(0.0, began + offset - time.perf_counter()))
            behind = max(behind, time.perf_counter() - began - offset)
            request_reset(account_ref=ref, channels=["email"])
        return self._delivered(len(offsets), before, behind=behind)

    def _empty(self) -> None:
        _execute(_EMPTY, kept=self._kept)
        _execute(["VACUUM ANALYZE"])

    def _delivered(self, number: int, before: Mapping[str, float], *, behind: float = 0.0) -> Delivered:
        rows: list[tuple[Any, ...]] = []
        ends = time.monotonic() + CEILING_SECONDS
        while not _is_done():
            if time.monotonic() > ends:
                raise TimeoutError("The workers did not deliver everything in time.")
            time.sleep(LOOK_SECONDS)
        cpu = {role: seconds - before[role] for role, seconds in self._cpu().items()}
        rows = _fetched(
            "SELECT EXTRACT(EPOCH FROM a.started_at)::float8, EXTRACT(EPOCH FROM a.finished_at)::float8, "
            "EXTRACT(EPOCH FROM d.due_at)::float8 FROM resetdelivery_attempt a "
            "JOIN resetdelivery_delivery d ON d.id = a.delivery_id ORDER BY a.started_at"
        )
        if len(rows) != number:
            raise RuntimeError(
                f"{number} deliveries made {len(rows)} attempts: something failed, see the log."
            )
        return Delivered(
            marked=[row[0] for row in rows],
            accepted=[row[1] for row in rows],
            due=[row[2] for row in rows],
            cpu=cpu,
            behind=behind,
        )

    def _cpu(self) -> dict[str, float]:
        found = seconds_by_role(self._pids)
        if not found:
            raise RuntimeError("Processor time cannot be read here: the costs need Linux's /proc.")
        return {**found, "admission": time.process_time()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Servers that all runs share; ``kept`` rows can be delivered again and again."""

    folder: Path
    redis: Server
    postgres: Server
    kept: int
    accounts: Sequence[str]

    @contextmanager
    def running(self, lineup: Lineup) -> Iterator[Running]:
        """Mail server and workers of one configuration, up; they end with the block."""
        import redis

        redis.Redis.from_url(self.redis.url).flushall()
        with ExitStack() as undo:
            sink, port = self._sink(undo)
            environment = {
                **os.environ,
                "WAVE": str(lineup.wave),
                "CLAIM_LIMIT": str(lineup.claim_limit),
                "EMAIL_PORT": str(port),
                # A connection for each thread, and for who looks.
                "DATABASE_POOL_SIZE": str(max(20, lineup.concurrency + 4)),
                "LATENCY_SECONDS": str(lineup.latency),
                "DEVIATION_SECONDS": str(lineup.deviation),
            }
            servers = {"postgresql": self.postgres, "redis": self.redis, "sink": sink}
            for number in range(lineup.workers):
                name = f"worker{number + 1}"
                place = Place(environment=environment, folder=self.folder)
                servers[name] = undo.enter_context(_worker(place, name, lineup.concurrency))
            pids = {role: one.process.pid for role, one in servers.items() if one.process is not None}
            yield Running(lineup, self.kept, self.accounts, pids)

    def _sink(self, undo: ExitStack) -> tuple[Server, int]:
        ready, record = self.folder / "sink.port", self.folder / "accepted.txt"
        ready.unlink(missing_ok=True)
        record.touch()
        place = Place(environment=dict(os.environ), folder=self.folder)
        files = ("--ready-file", str(ready), "--record", str(record))
        command = place.command("sink", "-m", "bench.boundaries.sink", *files)
        server = undo.enter_context(launch(_killed(ready.exists), command))
        return server, int(ready.read_text())


@contextmanager
def set_up(folder: Path, *, rows: int, accounts: int) -> Iterator[Stage]:
    """Servers, tables, ``rows`` admitted resets to deliver, and ``accounts`` that did not ask yet."""
    with ExitStack() as servers:
        redis = servers.enter_context(start_redis(folder, environ={}))
        postgres = servers.enter_context(start_postgres(folder, environ={}))
        os.environ.update(
            DJANGO_SETTINGS_MODULE="bench.capacity.settings",
            DATABASE_URL=postgres.url,
            DATABASE_POOL_SIZE="20",
            REDIS_URL=redis.url,
            DEBUG="0",
            SECRET_KEY="a secret key of a measurement that guards nothing and nobody",
            RECOVERY="on",
            DISPATCH="broker",
            PYTHONUNBUFFERED="1",
        )
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        _admit(make_accounts(rows))
        yield Stage(
            folder=folder, redis=redis, postgres=postgres, kept=rows, accounts=make_accounts(accounts)
        )


def _admit(refs: Sequence[str]) -> None:
    from resetdelivery.services import request_reset

    with changed(DISPATCH="database"):
        for ref in refs:
            request_reset(account_ref=ref, channels=["email"])
    _execute(_AT_THEIR_END)


def _worker(place: Place, name: str, threads: int) -> Server:
    options = ("-Q", "email", "-n", f"{name}@bench", "--pool", "threads", "-c", str(threads), "-E")
    quiet = ("--without-gossip", "--without-mingle")
    command = place.command(name, "-m", "celery", "-A", "config", "worker", "-l", "info", *options, *quiet)
    # An earlier run's log would say that this one is up.
    command.log.unlink(missing_ok=True)
    return launch(_killed(lambda: "ready." in _text(command)), command)


def _text(command: Command) -> str:
    return command.log.read_text(errors="replace") if command.log.exists() else ""


def _killed(answers: Callable[[], bool]) -> Server:
    """A process of one run, with nothing left to finish politely."""
    return Server(url="", answers=answers, stop_signal=signal.SIGKILL)


def _is_done() -> bool:
    found = _fetched("SELECT 1 FROM resetdelivery_delivery WHERE finished_at IS NULL LIMIT 1")
    return not found


def _fetched(statement: str) -> list[tuple[Any, ...]]:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def _execute(statements: Sequence[str], **values: int) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement, values)
