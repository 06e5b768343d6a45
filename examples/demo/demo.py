"""One run of the demo: servers first, then the database and the accounts, then what uses them."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from examples.demo import child, folder, ports, programs
from examples.demo.child import StartFailure
from examples.demo.embedded import Server, start_redis
from examples.demo.probes import json_written
from examples.demo.programs import Addresses, Place
from examples.demo.supervisor import Program, Supervisor

STATE = programs.ROOT / ".demo"
COMMAND_SECONDS = 120.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Somebody who can sign in to the shop."""

    username: str = dataclasses.field(repr=False)
    email: str = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """A demo that is up. `accounts` is what `create_demo_accounts` printed; `left_out` does not run."""

    addresses: Addresses
    place: Place
    accounts: str = dataclasses.field(repr=False)
    left_out: tuple[str, ...] = ()

    @property
    def first_account(self) -> Account:
        """The first account of the printed table. Raises StartFailure when the table has none."""
        headings, *rows = [line.split() for line in self.accounts.splitlines() if line.strip()] or [[]]
        if not rows or not {"username", "email"} <= set(headings):
            raise StartFailure("create_demo_accounts printed no table with a username and an email.")
        first = dict(zip(headings, rows[0], strict=False))
        return Account(username=first["username"], email=first["email"])

    def manage(self, *arguments: str) -> str:
        """What a management command prints. Raises StartFailure, with the end of its log, when it fails."""
        return child.output(programs.manage(self.place, *arguments), COMMAND_SECONDS)


@contextlib.contextmanager
def running(
    supervisor: Supervisor,
    report: Callable[[str], None],
    base: Mapping[str, str],
    left_out: tuple[str, ...] = (),
) -> Iterator[Demo]:
    """The demo, up; at the end all of it is stopped and its folder removed.

    Programs whose name starts with one of `left_out` are not started. Raises StartFailure with the reason
    and the end of the right log; `Stopped` on Ctrl-C.
    """
    with contextlib.ExitStack() as undo:
        home = folder.create(STATE, "run-")
        undo.callback(home.remove)
        undo.callback(supervisor.stop)
        listener = undo.enter_context(ports.listen(programs.WEB_PORT))
        redis = _start_redis(supervisor, home.path, base, report)
        bare = Place(environment=base, folder=home.path)
        addresses = _start_inbox(supervisor, bare, web_port=listener.getsockname()[1])
        database_url = base.get("DATABASE_URL") or f"sqlite:///{home.path / 'shop.sqlite3'}"
        environment = programs.environment(
            base, addresses=addresses, database_url=database_url, redis_url=redis.url
        )
        place = Place(environment=environment, folder=home.path)
        accounts = _prepare(place, report)
        supervisor.start(*_chosen(place, addresses, listener.fileno(), left_out))
        yield Demo(addresses=addresses, place=place, accounts=accounts, left_out=left_out)


def _start_redis(
    supervisor: Supervisor, home: Path, base: Mapping[str, str], report: Callable[[str], None]
) -> Server:
    redis = start_redis(home, environ=base)
    if redis.command is not None and redis.process is not None:
        program = Program(name="redis", command=redis.command, ready=redis.answers, server=True)
        supervisor.adopt(program, redis.process)
    else:
        report("redis is the one that REDIS_URL names")
    return redis


def _start_inbox(supervisor: Supervisor, place: Place, *, web_port: int) -> Addresses:
    ready_file = place.folder / "inbox.json"
    supervisor.start(programs.inbox(place, ready_file, http_port=ports.pick(programs.INBOX_PORT)))
    taken = json_written(ready_file) or {}
    smtp_port, http_port = int(str(taken["smtp_port"])), int(str(taken["http_port"]))
    # If it has to be started again, then where everybody knows it.
    supervisor.amend(programs.inbox(place, ready_file, smtp_port=smtp_port, http_port=http_port))
    return Addresses(
        web=f"http://{ports.LOOPBACK}:{web_port}",
        inbox=f"http://{ports.LOOPBACK}:{http_port}",
        flower=f"http://{ports.LOOPBACK}:{ports.pick(programs.FLOWER_PORT)}",
        smtp_port=smtp_port,
    )


def _prepare(place: Place, report: Callable[[str], None]) -> str:
    child.output(programs.manage(place, "migrate", "--noinput"), COMMAND_SECONDS)
    report("the database is migrated")
    accounts = child.output(programs.manage(place, "create_demo_accounts"), COMMAND_SECONDS)
    report("two shop accounts are there")
    return accounts


def _chosen(place: Place, addresses: Addresses, listener: int, left_out: tuple[str, ...]) -> list[Program]:
    everything = [
        programs.web(place, addresses.web, listener),
        *programs.workers(place),
        programs.beat(place),
        programs.flower(place, addresses.flower),
    ]
    return [program for program in everything if not program.name.startswith(left_out)]
