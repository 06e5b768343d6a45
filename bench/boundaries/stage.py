"""One run of one configuration: real servers and processes on the loopback address, started and ended."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import redis

from bench.boundaries.arrivals import Arrivals
from bench.boundaries.configurations import (
    ANSWER_SECONDS,
    Boundary,
    Configuration,
    Database,
    Dead,
    Health,
    workers,
)
from bench.boundaries.cpu import seconds_by_role, spent
from bench.boundaries.measures import SINK, Request, Run, run_of
from bench.boundaries.sink import acceptances
from examples.demo import child, programs
from examples.demo.child import Command, StartFailure
from examples.demo.embedded import Server, start_postgres, start_redis
from examples.demo.ports import LOOPBACK
from examples.demo.programs import Place
from examples.demo.server import launch

PREPARE_SECONDS = 120.0
#: For a run beyond its arrivals: lives that run out, on a machine that is busy.
ROOM_SECONDS = 60.0
_TEMPLATE = "boundaries"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Servers that all runs share, and a prepared database of each kind to copy."""

    folder: Path
    redis: Server
    postgres: Server
    arrivals: Arrivals
    dead: Dead

    def run(self, configuration: Configuration) -> Run:
        """Everything up, one schedule of arrivals, everything down. StartFailure with the end of a log."""
        folder = self.folder / "run"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        with ExitStack() as undo:
            url = undo.enter_context(self._copied(configuration.database, folder))
            record = folder / "accepted.txt"
            record.touch()
            servers: dict[str, Server] = {}
            if configuration.database is Database.POSTGRESQL:
                servers["postgresql"] = self.postgres
            port = self._mail_server(configuration.health, folder, record, servers, undo)
            environment = {**_environment(url, self.redis.url, port), "DISPATCH": configuration.boundary}
            place = Place(environment=environment, folder=folder)
            self._start_boundary(configuration, place, servers, undo)
            seen, cpu = self._admit(place, servers, undo)
            return run_of(
                configuration,
                [Request(**one) for one in seen["requests"]],
                acceptances(record),
                warm_up_seconds=self.arrivals.warm_up_seconds,
                left_open=seen["left_open"],
                outcomes=seen["outcomes"],
                cpu_seconds={"web": seen["cpu_seconds"], **cpu} if cpu is not None else {},
            )

    def _admit(
        self, place: Place, servers: Mapping[str, Server], undo: ExitStack
    ) -> tuple[dict[str, Any], dict[str, float] | None]:
        ready, result = place.folder / "web.ready", place.folder / "web.json"
        arrivals = json.dumps(dataclasses.asdict(self.arrivals))
        files = ("--ready-file", str(ready), "--result", str(result))
        command = place.command("web", "-m", "bench.boundaries.web", "admit", "--arrivals", arrivals, *files)
        web = undo.enter_context(launch(Server(url="", answers=ready.exists), command))
        pids = {role: one.process.pid for role, one in servers.items() if one.process is not None}
        before = seconds_by_role(pids)
        _finish(web, command, self.arrivals.warm_up_seconds + self.arrivals.seconds + ROOM_SECONDS)
        seen: dict[str, Any] = json.loads(result.read_text())
        return seen, spent(before, seconds_by_role(pids))

    def _mail_server(
        self, health: Health, folder: Path, record: Path, servers: dict[str, Server], undo: ExitStack
    ) -> int:
        """The port of a mail server that does as ``health`` says."""
        if health is Health.DEAD and self.dead is Dead.REFUSED:
            # Bound, so that nobody else gets it, and not listening.
            bound = undo.enter_context(socket.socket())
            bound.bind((LOOPBACK, 0))
            return int(bound.getsockname()[1])
        ready = folder / "sink.port"
        how = ("--silent",) if health is Health.DEAD else ("--answer-seconds", str(ANSWER_SECONDS[health]))
        place = Place(environment=dict(os.environ), folder=folder)
        files = ("--ready-file", str(ready), "--record", str(record))
        command = place.command(SINK, "-m", "bench.boundaries.sink", *how, *files)
        servers[SINK] = undo.enter_context(launch(_killed(answers=ready.exists), command))
        return int(ready.read_text())

    def _start_boundary(
        self, configuration: Configuration, place: Place, servers: dict[str, Server], undo: ExitStack
    ) -> None:
        if configuration.boundary is Boundary.DATABASE:
            # Its checks would refuse so short a life.
            command = place.command("poller", "manage.py", "run_poller", "--skip-checks")
            servers["poller"] = undo.enter_context(_logging_that_it_is_up(command, "polling"))
        if configuration.boundary is Boundary.BROKER:
            redis.Redis.from_url(self.redis.url).flushall()
            servers["redis"] = self.redis
            for name, (queues, threads) in workers(configuration.database).items():
                servers[name] = undo.enter_context(_celery_worker(place, name, queues, threads))
            beat = programs.beat(place)
            servers["beat"] = undo.enter_context(launch(_killed(answers=beat.ready), beat.command))

    @contextmanager
    def _copied(self, database: Database, folder: Path) -> Iterator[str]:
        """The address of a fresh copy of the prepared database; it goes at the end."""
        if database is Database.SQLITE:
            shutil.copy(self.folder / f"{_TEMPLATE}.sqlite3", folder / "run.sqlite3")
            yield f"sqlite:///{folder / 'run.sqlite3'}"
            return
        _order(self.postgres.url, f"CREATE DATABASE run TEMPLATE {_TEMPLATE}")
        try:
            yield urlsplit(self.postgres.url)._replace(path="/run").geturl()
        finally:
            _order(self.postgres.url, "DROP DATABASE run WITH (FORCE)")


@contextmanager
def set_up(folder: Path, arrivals: Arrivals, dead: Dead) -> Iterator[Stage]:
    """The servers, and a database of each kind with tables and an account for every arrival."""
    with ExitStack() as undo:
        broker = undo.enter_context(start_redis(folder, environ={}))
        postgres = undo.enter_context(start_postgres(folder, environ={}))
        _order(postgres.url, f"CREATE DATABASE {_TEMPLATE}")
        for url in (
            f"sqlite:///{folder / _TEMPLATE}.sqlite3",
            urlsplit(postgres.url)._replace(path=f"/{_TEMPLATE}").geturl(),
        ):
            place = Place(environment=_environment(url, broker.url, 25), folder=folder)
            number = str(len(arrivals.offsets()))
            command = place.command("prepare", "-m", "bench.boundaries.web", "prepare", "--accounts", number)
            child.output(command, PREPARE_SECONDS)
        yield Stage(folder=folder, redis=broker, postgres=postgres, arrivals=arrivals, dead=dead)


def _environment(database_url: str, redis_url: str, email_port: int) -> dict[str, str]:
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "bench.boundaries.settings",
        "PYTHONUNBUFFERED": "1",
        "DEBUG": "0",
        "SECRET_KEY": "a secret key of a measurement that guards nothing and nobody",
        "DATABASE_URL": database_url,
        "DATABASE_POOL_SIZE": "20",
        "REDIS_URL": redis_url,
        "EMAIL_PORT": str(email_port),
        "RECOVERY": "on",
    }


def _celery_worker(place: Place, name: str, queues: str, threads: int) -> Server:
    options = ("-Q", queues, "-n", f"{name}@bench", "--pool", "threads", "-c", str(threads), "-E")
    quiet = ("--without-gossip", "--without-mingle")
    command = place.command(name, "-m", "celery", "-A", "config", "worker", "-l", "info", *options, *quiet)
    return _logging_that_it_is_up(command, "ready.")


def _logging_that_it_is_up(command: Command, words: str) -> Server:
    return launch(_killed(answers=lambda: words in command.log.read_text(errors="replace")), command)


def _killed(*, answers: Callable[[], bool]) -> Server:
    """A process of one run. Its database goes with it, so that nothing has to be finished politely."""
    return Server(url="", answers=answers, stop_signal=signal.SIGKILL)


def _finish(server: Server, command: Command, seconds: float) -> None:
    assert server.process is not None
    try:
        code = server.process.wait(seconds)
    except subprocess.TimeoutExpired:
        raise StartFailure(f"A run did not end in {seconds:.0f} s:\n{child.tail(command.log)}") from None
    if code != 0:
        raise StartFailure(f"A run ended with exit code {code}:\n{child.tail(command.log)}")


def _order(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode())
