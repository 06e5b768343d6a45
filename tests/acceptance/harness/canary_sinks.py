"""The places that the canary test searches: each read to the last octet."""

from __future__ import annotations

import contextlib
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import digits
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from django.apps import apps
from django.db import connection

from tests.acceptance.harness.canary import Sink

#: Columns of ours that hold a marked value on purpose, and why.
ALLOWED_COLUMNS = {
    ("resetdelivery_resetintent", "account_ref"): "whose reset it is, until that is scrubbed",
}
#: Other applications' tables into which ours could write.
_THEIRS = ("django_admin_log", "django_content_type", "django_migrations")

#: What each kind of process says, by the name of its log, once it has done what the play is about.
SAID = {
    "beat": "Sending due task",
    "delivery_health": "oldest due",
    "explain": "requested",
    "flower": "Visit me at",
    "forget_account": "The account is forgotten",
    "internal": "Booting worker",
    "poller": "[info     ] attempt ",
    "purge": "audit_entries",
    "reconcile": "admitted in the window",
    "retention_report": "ResetIntent: account_refs",
    "rollout": "existing sender",
    "shop": '"POST /accounts/forgot/ HTTP/1.1" 302',
    "telemetry_budget": "MAX_TRAIL_BYTES",
    "worker": "ready.",
}


class Wire:
    """Every command that a Redis is sent, from its own MONITOR; a context manager."""

    def __init__(self, url: str) -> None:
        where = urlsplit(url)
        self._socket = socket.create_connection((where.hostname or "", where.port or 0))
        if where.password:
            self._socket.sendall(f"AUTH {where.password}\r\n".encode())
            assert self._socket.recv(64).startswith(b"+OK")
        self._socket.sendall(b"MONITOR\r\n")
        assert self._socket.recv(64).startswith(b"+OK")
        self._heard = bytearray()
        self._thread = threading.Thread(target=self._listen)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)
        self._socket.close()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while data := self._socket.recv(1 << 20):
                self._heard += data

    @property
    def heard(self) -> bytes:
        """All commands up to now."""
        return bytes(self._heard)


def table_rows(table: str) -> Iterator[bytes]:
    """Every column of a table that may not hold a mark, as text."""
    with connection.cursor() as cursor:
        names = [column.name for column in connection.introspection.get_table_description(cursor, table)]
        searched = [name for name in names if (table, name) not in ALLOWED_COLUMNS]
        cursor.execute(f"SELECT {', '.join(searched)} FROM {table}")
        for row in cursor.fetchall():
            yield " ".join(map(str, row)).encode()


def our_tables() -> list[str]:
    """The tables of this package, and those of other applications that it writes to."""
    return [model._meta.db_table for model in apps.get_app_config("resetdelivery").get_models()] + [
        table for table in _THEIRS if table in connection.introspection.table_names()
    ]


def database(when: str) -> Sink:
    """Every table of ours, column by column but for the allowed ones."""
    rows = (row for table in our_tables() for row in table_rows(table))
    return Sink(name=f"database, {when}", content=b"\n".join(rows), says="email")


def logs(folder: Path, said: Mapping[str, str] = SAID) -> list[Sink]:
    """Standard output and standard error of every process; none of ``said`` may be missing."""
    files = {file: file.stem.rstrip(digits) for file in sorted(folder.glob("*.log"))}
    differing = set(files.values()) ^ set(said)
    assert not differing, f"of these there is a log or a known word, and not the other: {sorted(differing)}"
    return [
        Sink(name=f"log of {file.stem}", content=file.read_bytes(), says=said[kind])
        for file, kind in files.items()
    ]


def page(url: str, *, key: str = "") -> bytes:
    """What is answered at ``url``, headers included, whatever the status."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"} if key else {})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return str(answer.headers).encode() + bytes(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return str(error.headers).encode() + error.read()
