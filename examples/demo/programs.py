"""The demo's processes as one table, and the environment they share."""

from __future__ import annotations

import dataclasses
import functools
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path

from examples.demo import ports, probes
from examples.demo.child import Command
from examples.demo.supervisor import Program

ROOT = Path(__file__).resolve().parents[2]
WEB_PORT, INBOX_PORT, FLOWER_PORT = 8000, 8025, 5555
FORGOT_PATH = "/accounts/forgot/"
# SQLite has one writer at a time, so one process dispatches, with few threads.
SQLITE_WORKERS = {"all": ("email,sms,control", 4)}
SERVER_WORKERS = {"email": ("email", 8), "sms": ("sms", 8), "control": ("control", 2)}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Where a run's pages are, and the mail server's port."""

    web: str
    inbox: str
    smtp_port: int
    flower: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What every command of a run shares."""

    environment: Mapping[str, str] = dataclasses.field(repr=False)
    folder: Path

    @property
    def owns_database(self) -> bool:
        """Whether the database is a file that goes with the folder."""
        return str(self.folder) in self.environment["DATABASE_URL"]

    def command(self, name: str, *arguments: str, descriptors: tuple[int, ...] = ()) -> Command:
        """A Python module's command line, logging to `NAME.log` in the run's folder."""
        return Command(
            arguments=(sys.executable, *arguments),
            environment=self.environment,
            log=self.folder / f"{name}.log",
            folder=ROOT,
            descriptors=descriptors,
        )


def environment(
    base: Mapping[str, str], *, addresses: Addresses, database_url: str, redis_url: str
) -> dict[str, str]:
    """The settings of one run, complete, so that no `.env` file has a say.

    Its secrets are drawn here, live in memory only, and end with it.
    """
    return {
        **base,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PYTHONUNBUFFERED": "1",
        "DEBUG": "1",
        "ALLOWED_HOSTS": f"{ports.LOOPBACK},localhost",
        "SECRET_KEY": secrets.token_urlsafe(48),
        "RESET_LINK_KEY": secrets.token_urlsafe(48),
        "PSEUDONYM_KEY": secrets.token_urlsafe(48),
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "RESET_BASE_URL": addresses.web,
        "DISPATCH": "broker",
        "RECOVERY": "on",
        # Whoever tries the demo asks for the same account again and again.
        **{
            f"{kind}_PER_{window}": "1000"
            for kind in ("ACCOUNT", "DESTINATION")
            for window in ("HOUR", "DAY")
        },
        "EMAIL_HOST": ports.LOOPBACK,
        "EMAIL_PORT": str(addresses.smtp_port),
        "EMAIL_TLS": "none",
        "EMAIL_HOST_USER": "",
        "EMAIL_HOST_PASSWORD": "",
        "EMAIL_FROM": "no-reply@marketplace.example",
        "TWILIO_BASE_URL": addresses.inbox,
        "TWILIO_ACCOUNT_SID": f"AC{secrets.token_hex(16)}",
        "TWILIO_AUTH_TOKEN": secrets.token_hex(16),
        "TWILIO_FROM": "+15005550006",
        "LOG_FORMAT": "console",
        "DJANGO_SUPERUSER_USERNAME": "admin",
        "DJANGO_SUPERUSER_EMAIL": "admin@shop.example",
        "DJANGO_SUPERUSER_PASSWORD": secrets.token_urlsafe(9),
    }


def inbox(place: Place, ready_file: Path, *, smtp_port: int = 0, http_port: int = 0) -> Program:
    """The mail and SMS provider with its pages; it says in `ready_file` which ports it took."""
    store = place.folder / "inbox.sqlite3"
    listening = ("--smtp-port", str(smtp_port), "--http-port", str(http_port))
    files = ("--store", str(store), "--ready-file", str(ready_file))
    return Program(
        name="inbox",
        command=place.command("inbox", "-m", "notifications.testing.provider", *listening, *files),
        ready=lambda: probes.json_written(ready_file) is not None,
        server=True,
    )


def web(place: Place, address: str, descriptor: int) -> Program:
    """The shop; its listening socket is ours, so a restart refuses no visitor."""
    options = ("--bind", f"fd://{descriptor}", "--workers", "1", "--threads", "8", "--no-control-socket")
    return Program(
        name="web",
        command=place.command(
            "web", "-m", "gunicorn", "config.wsgi:application", *options, descriptors=(descriptor,)
        ),
        ready=functools.partial(probes.http_answers, address + FORGOT_PATH),
    )


def workers(place: Place) -> list[Program]:
    """One worker per channel and one for control; on SQLite a single one for all three."""
    roll = probes.WorkerRoll(place.environment, ROOT)
    sqlite = place.environment["DATABASE_URL"].startswith("sqlite")
    table = SQLITE_WORKERS if sqlite else SERVER_WORKERS
    return [_worker(place, roll, name, *row) for name, row in table.items()]


def _worker(place: Place, roll: probes.WorkerRoll, name: str, queues: str, threads: int) -> Program:
    node = f"{name}@demo"
    options = ("-Q", queues, "-n", node, "--pool", "threads", "-c", str(threads), "-E")
    quiet = ("--without-gossip", "--without-mingle")
    return Program(
        name=f"worker-{name}",
        command=place.command(f"worker-{name}", "-m", "celery", "-A", "config", "worker", *options, *quiet),
        ready=functools.partial(roll.has, node),
    )


def beat(place: Place) -> Program:
    """The clock behind retries and sweeps; ready once it has written its schedule."""
    schedule = place.folder / "beat-schedule"
    return Program(
        name="beat",
        command=place.command("beat", "-m", "celery", "-A", "config", "beat", "--schedule", str(schedule)),
        ready=lambda: any(place.folder.glob(f"{schedule.name}*")),
    )


def flower(place: Place, port: int) -> Program:
    """Flower, on the loopback address only: it has no sign-in here."""
    options = (f"--address={ports.LOOPBACK}", f"--port={port}")
    return Program(
        name="flower",
        command=place.command("flower", "-m", "celery", "-A", "config", "flower", *options),
        ready=functools.partial(probes.http_answers, f"{ports.address(port)}/healthcheck"),
    )


def manage(place: Place, *arguments: str) -> Command:
    """A management command, logging to its own file."""
    return place.command(arguments[0], "manage.py", *arguments)
