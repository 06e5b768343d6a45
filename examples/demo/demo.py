"""One run of the demo: servers first, then the database and the accounts, then what uses them."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
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
TRIES = 3


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
        smtp_port, inbox_port = _start_inbox(supervisor, Place(environment=base, folder=home.path))
        addresses = Addresses(
            web=ports.address(listener.getsockname()[1]), inbox=ports.address(inbox_port), smtp_port=smtp_port
        )
        database_url = base.get("DATABASE_URL") or f"sqlite:///{home.path / 'shop.sqlite3'}"
        environment = programs.environment(
            base, addresses=addresses, database_url=database_url, redis_url=redis.url
        )
        place = Place(environment=environment, folder=home.path)
        accounts = _prepare(place, report)
        flower = _start_rest(
            supervisor, place, programs.web(place, addresses.web, listener.fileno()), left_out
        )
        addresses = dataclasses.replace(addresses, flower=flower)
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


def _start_inbox(supervisor: Supervisor, place: Place) -> tuple[int, int]:
    """The SMTP and the HTTP port of the inbox, which is started."""
    ready_file = place.folder / "inbox.json"
    at = functools.partial(programs.inbox, place, ready_file)
    http_port = start_on_a_port(supervisor, programs.INBOX_PORT, lambda port: at(http_port=port))
    smtp_port = int(str((json_written(ready_file) or {})["smtp_port"]))
    # If it has to be started again, then where everybody knows it.
    supervisor.amend(at(smtp_port=smtp_port, http_port=http_port))
    return smtp_port, http_port


def start_on_a_port(supervisor: Supervisor, preferred: int, program: Callable[[int], Program]) -> int:
    """Start a program that opens its port itself; on another one when somebody was quicker."""
    for _ in range(TRIES):
        port = ports.pick(preferred)
        try:
            supervisor.start(program(port))
        except StartFailure:
            if ports.pick(port) == port:  # free: something else was wrong
                raise
        else:
            return port
    raise StartFailure(f"Each of {TRIES} free ports was taken before {program(0).name} could open it.")


def _prepare(place: Place, report: Callable[[str], None]) -> str:
    child.output(programs.manage(place, "migrate", "--noinput"), COMMAND_SECONDS)
    report("the database is migrated")
    accounts = child.output(programs.manage(place, "create_demo_accounts"), COMMAND_SECONDS)
    report("two shop accounts are there")
    if not place.owns_database:  # its admin pages have their own accounts
        return accounts
    child.output(programs.manage(place, "createsuperuser", "--noinput"), COMMAND_SECONDS)
    password = place.environment["DJANGO_SUPERUSER_PASSWORD"]
    return f"{accounts}\nThe admin pages know admin, with the password {password}\n"


def _start_rest(supervisor: Supervisor, place: Place, web: Program, left_out: tuple[str, ...]) -> str:
    """Start what uses the servers; Flower's address, empty when it is left out."""
    everything = [web, *programs.workers(place), programs.beat(place)]
    supervisor.start(*(program for program in everything if not program.name.startswith(left_out)))
    if "flower".startswith(left_out):
        return ""
    flower = functools.partial(programs.flower, place)
    return ports.address(start_on_a_port(supervisor, programs.FLOWER_PORT, flower))
