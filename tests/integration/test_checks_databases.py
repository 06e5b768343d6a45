from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.checks import CheckMessage
from django.db import connection, connections
from psycopg import IsolationLevel

from resetdelivery.checks import database
from tests.hosts.host import run_host

WAL = "PRAGMA journal_mode=WAL;"
STAND_IN_DRIVER = Path(__file__).parents[1] / "hosts" / "stand_in_driver"


class OneDatabase:
    """Stands for Django's connections: one SQLite database under every alias."""

    def __init__(self, name: str, settings: dict[str, Any], vendor: str) -> None:
        self.vendor = vendor
        self.settings_dict = {"NAME": name, **settings}
        self._in_memory = "memory" in name

    def __getitem__(self, alias: str) -> OneDatabase:
        return self

    def is_in_memory_db(self) -> bool:
        return self._in_memory


def found(
    monkeypatch: pytest.MonkeyPatch, name: str = "shop.sqlite3", vendor: str = "sqlite", **settings: Any
) -> list[CheckMessage]:
    monkeypatch.setattr(database, "connections", OneDatabase(name, settings, vendor))
    return database.check_database()


def numbers(messages: list[CheckMessage]) -> list[str]:
    return [str(message.id)[-4:] for message in messages]


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        ({"transaction_mode": "IMMEDIATE", "init_command": WAL}, []),
        ({"transaction_mode": "immediate", "init_command": "pragma Journal_Mode = 'wal'"}, []),
        ({"transaction_mode": "EXCLUSIVE", "init_command": f"PRAGMA synchronous=FULL; {WAL}"}, []),
        ({"init_command": WAL}, ["E004"]),
        ({"transaction_mode": "DEFERRED", "init_command": WAL}, ["E004"]),
        ({"transaction_mode": None, "init_command": WAL}, ["E004"]),
        ({"transaction_mode": "IMMEDIATE"}, ["E005"]),
        ({"transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=DELETE"}, ["E005"]),
        ({"transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=walrus"}, ["E005"]),
        ({}, ["E004", "E005"]),
    ],
)
def test_sqlite_needs_immediate_transactions_and_wal(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], ids: list[str]
) -> None:
    assert numbers(found(monkeypatch, OPTIONS=options)) == ids


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({"transaction_mode": "IMMEDIATE"}, "DATABASES['default'] has"),
        ({"TEST": {"transaction_mode": "IMMEDIATE"}}, "DATABASES['default']['TEST'] has"),
        (
            {"OPTIONS": {"OPTIONS": {"transaction_mode": "IMMEDIATE"}, "init_command": WAL}},
            "DATABASES['default']['OPTIONS']['OPTIONS'] has",
        ),
    ],
)
def test_an_option_in_the_wrong_place_is_pointed_at(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], place: str
) -> None:
    (message,) = found(monkeypatch, **{"OPTIONS": {"init_command": WAL}, **settings})
    assert f"What stands in {place} no effect." in str(message.hint)


def test_a_wrong_value_in_the_right_place_is_not_called_stray(monkeypatch: pytest.MonkeyPatch) -> None:
    (message,) = found(monkeypatch, OPTIONS={"transaction_mode": "DEFERRED", "init_command": WAL})
    assert message.hint == "Set DATABASES['default']['OPTIONS']['transaction_mode'] = 'IMMEDIATE'."


@pytest.mark.parametrize("name", [":memory:", "file:memorydb_default?mode=memory&cache=shared"])
def test_a_database_in_memory_has_no_other_writers_to_wait_for(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    assert found(monkeypatch, name) == []


def test_an_old_sqlite_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "sqlite_version_info", (3, 34, 1))
    assert numbers(found(monkeypatch, ":memory:")) == ["E003"]


@pytest.mark.parametrize("vendor", ["mysql", "oracle", "microsoft"])
def test_other_databases_are_refused(monkeypatch: pytest.MonkeyPatch, vendor: str) -> None:
    (message,) = found(monkeypatch, vendor=vendor)
    assert (message.id, f"is {vendor}" in message.msg) == ("resetdelivery.E002", True)


def test_postgresql_is_welcome(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(monkeypatch, vendor="postgresql") == []


def command_line(*levels: str) -> dict[str, Any]:
    settings = [f"-c default_transaction_isolation={level}" for level in levels]
    return {"options": " ".join(["-c statement_timeout=60s", *settings])}


#: Options of a PostgreSQL database, and whether its transactions are READ COMMITTED with them.
LEVELS: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"isolation_level": IsolationLevel.READ_COMMITTED}, True),
    ({"isolation_level": IsolationLevel.REPEATABLE_READ}, False),
    ({"isolation_level": IsolationLevel.SERIALIZABLE}, False),
    ({"isolation_level": IsolationLevel.READ_UNCOMMITTED}, False),
    ({"isolation_level": int(IsolationLevel.READ_COMMITTED)}, True),
    ({"isolation_level": int(IsolationLevel.REPEATABLE_READ)}, False),
    ({"isolation_level": int(IsolationLevel.SERIALIZABLE)}, False),
    ({"options": "-c statement_timeout=60s"}, True),
    (command_line("serializable"), False),
    (command_line(r"repeatable\ read"), False),
    (command_line(r"Read\ Committed"), True),
    ({"options": "-cDEFAULT_TRANSACTION_ISOLATION=serializable"}, False),
    ({"options": "--default-transaction-isolation=serializable"}, False),
    (command_line("serializable", r"read\ committed"), True),
]


@pytest.mark.parametrize(("options", "fits"), LEVELS)
def test_postgresql_is_refused_any_isolation_but_read_committed(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], fits: bool
) -> None:
    assert numbers(found(monkeypatch, vendor="postgresql", OPTIONS=options)) == ([] if fits else ["E083"])


@pytest.mark.django_db
@pytest.mark.usefixtures("postgres_only")
@pytest.mark.parametrize(("options", "fits"), LEVELS)
def test_the_server_takes_such_options_for_what_the_check_does(options: dict[str, Any], fits: bool) -> None:
    other = connection.copy()
    other.settings_dict["OPTIONS"] = {**other.settings_dict["OPTIONS"], **options}
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("SHOW transaction_isolation")
            assert (cursor.fetchone() == ("read committed",)) is fits
    finally:
        other.close()


@pytest.mark.parametrize("value", [None, "SERIALIZABLE", 7])
def test_what_is_no_isolation_level_is_none_that_fits(monkeypatch: pytest.MonkeyPatch, value: object) -> None:
    options = {"isolation_level": value}
    assert numbers(found(monkeypatch, vendor="postgresql", OPTIONS=options)) == ["E083"]


class Nowhere:
    """A router that sends our tables to a database that is not configured."""

    def db_for_write(self, model: Any, **_: Any) -> str | None:
        return "nowhere" if model._meta.app_label == "resetdelivery" else None


def test_a_database_that_is_not_configured_is_an_error(settings: Any) -> None:
    settings.DATABASE_ROUTERS = [f"{__name__}.Nowhere"]
    (message,) = database.check_database()
    assert message.msg.startswith("DATABASES['nowhere'] is missing")
    assert "nowhere" not in connections


@pytest.mark.parametrize(
    ("settings", "options", "number"),
    [
        # Some of Django's own checks ask a MySQL server for its version, and there is none.
        ("on_mysql", ("--tag", "resetdelivery"), "E002"),
        ("without_immediate", (), "E004"),
        ("without_wal", (), "E005"),
        ("without_time_zones", (), "E006"),
    ],
)
def test_manage_py_check_refuses_what_cannot_work(
    tmp_path: Path, settings: str, options: tuple[str, ...], number: str
) -> None:
    arguments = ("-m", "django", "check", *options)
    done = run_host(settings, *arguments, folder=tmp_path, python_path=(STAND_IN_DRIVER,))
    assert done.returncode == 1
    assert f"(resetdelivery.{number})" in done.stderr
    assert "1 issue" in done.stderr


def test_manage_py_check_has_nothing_to_say_of_a_small_host(tmp_path: Path) -> None:
    done = run_host("bare", "-m", "django", "check", "--fail-level", "WARNING", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
