"""The database of our tables, and how it keeps time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from sqlite3 import sqlite_version, sqlite_version_info
from typing import Any

from django.conf import settings as django_settings
from django.core.checks import CheckMessage, register
from django.core.exceptions import ImproperlyConfigured
from django.db import connections, router
from django.utils.connection import ConnectionDoesNotExist

from resetdelivery.checks.messages import TAG, error
from resetdelivery.models import Delivery

#: UPDATE … RETURNING came with this version.
OLDEST_SQLITE = (3, 35)

_WAL = re.compile(r"""journal_mode\s*[=(]\s*['"]?wal\b""", re.IGNORECASE)

_READ_COMMITTED = "READ COMMITTED"
#: A setting among a server's command line options: ``-c name=value`` or ``--name=value``, in which
#: dashes are underscores and a backslash keeps a space from ending the value.
_DEFAULT_ISOLATION = re.compile(
    r"(?:-c\s*|--)default[-_]transaction[-_]isolation=((?:\\.|[^\s\\])*)", re.IGNORECASE
)


@register(TAG)
def check_database(**_: Any) -> list[CheckMessage]:
    """E002 to E005, and E083, for the database that the routers give our tables."""
    alias = router.db_for_write(Delivery)
    where = f"DATABASES[{alias!r}]"
    try:
        vendor = connections[alias].vendor
    except (ImproperlyConfigured, ConnectionDoesNotExist):
        # Its driver is missing, and its own message names the driver.
        vendor = str(django_settings.DATABASES.get(alias, {}).get("ENGINE", "")) or "missing"
    if vendor == "sqlite":
        return list(_sqlite_problems(alias, where))
    if vendor == "postgresql":
        return list(_isolation_problems(alias, where))
    hint = "Keep its tables in PostgreSQL (or SQLite, for one machine); a database router can say so."
    return [error(2, f"{where} is {vendor}, on which resetdelivery's leases do not hold.", hint)]


def _sqlite_problems(alias: str, where: str) -> Iterator[CheckMessage]:
    if sqlite_version_info < OLDEST_SQLITE:
        yield error(3, f"SQLite is {sqlite_version}; 3.35 is needed.", "Use a Python with a newer SQLite.")
    connection: Any = connections[alias]
    if connection.is_in_memory_db():
        return
    database: Mapping[str, Any] = connection.settings_dict
    options = database.get("OPTIONS") or {}
    if str(options.get("transaction_mode")).upper() not in {"IMMEDIATE", "EXCLUSIVE"}:
        text = f"{where}['OPTIONS']['transaction_mode'] is not 'IMMEDIATE': two writers at once would fail."
        yield error(4, text, _options_hint(where, database, "transaction_mode", "IMMEDIATE"))
    if not _WAL.search(str(options.get("init_command"))):
        text = f"{where}['OPTIONS']['init_command'] does not turn on WAL: readers would stop the workers."
        yield error(5, text, _options_hint(where, database, "init_command", "PRAGMA journal_mode=WAL;"))


def _isolation_problems(alias: str, where: str) -> Iterator[CheckMessage]:
    """One for each place that sets another level. What the server itself is set to no check sees."""
    options: Mapping[str, Any] = connections[alias].settings_dict.get("OPTIONS") or {}
    levels = {}
    if "isolation_level" in options:
        levels["isolation_level"] = _level(options["isolation_level"])
    if found := _DEFAULT_ISOLATION.findall(str(options.get("options") or "")):
        levels["options"] = found[-1].replace("\\", "").upper()
    for name, level in levels.items():
        if level != _READ_COMMITTED:
            text = (
                f"{where}['OPTIONS'][{name!r}] asks for an isolation level that is not {_READ_COMMITTED}: "
                "whoever waited for a lock would go on with what it read before, or fail."
            )
            hint = f"Take it out: {_READ_COMMITTED} is what PostgreSQL and Django begin with."
            yield error(83, text, hint)


def _level(value: object) -> str:
    """The name of a level as its driver counts them; empty for what is none, which Django refuses."""
    # Only PostgreSQL's users have a driver for it.
    from django.db.backends.postgresql.psycopg_any import IsolationLevel

    return next((level.name.replace("_", " ") for level in IsolationLevel if level == value), "")


def _options_hint(where: str, database: Mapping[str, Any], name: str, value: str) -> str:
    """How to set an option, and, where it stands in a place that Django ignores, that it does."""
    right = f"{where}['OPTIONS']"
    hint = f"Set {right}[{name!r}] = {value!r}."
    strays = [place for place in _places(where, database, name) if place != right]
    return f"{hint} What stands in {strays[0]} has no effect." if strays else hint


def _places(where: str, values: Mapping[Any, Any], name: str) -> Iterator[str]:
    """Where ``name`` is a key, at whatever depth."""
    if name in values:
        yield where
    for key, inner in values.items():
        if isinstance(inner, Mapping):
            yield from _places(f"{where}[{key!r}]", inner, name)


@register(TAG)
def check_time_zone_support(**_: Any) -> list[CheckMessage]:
    """E006."""
    if django_settings.USE_TZ:
        return []
    text = "USE_TZ is False: expiries would be read in whatever time zone a process happens to have."
    return [error(6, text, "Set USE_TZ = True.")]
