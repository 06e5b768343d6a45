"""A pytest plugin that gives the run its database before Django reads its settings.

``TEST_DATABASE`` is ``sqlite`` (the default) or ``postgres``: the server that ``DATABASE_URL``
names, or one that is started here and ends with the run. ``--only-database`` leaves out the tests
that use no database, for the second pass of a whole run.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest

from examples.demo.embedded import start_postgres

_open = ExitStack()


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    folder = Path(_open.enter_context(tempfile.TemporaryDirectory(prefix="resetdelivery-tests-")))
    wanted = os.environ.get("TEST_DATABASE", "sqlite")
    if wanted == "postgres":
        os.environ["DATABASE_URL"] = _open.enter_context(start_postgres(folder, durable=False)).url
    elif wanted == "sqlite":
        os.environ["DATABASE_URL"] = f"sqlite:///{folder / 'main.sqlite3'}"
    else:
        pytest.exit(f"TEST_DATABASE is {wanted!r}; use 'sqlite' or 'postgres'.", returncode=2)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--only-database", action="store_true", help="leave out the tests that use no test database"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--only-database"):
        chosen = [item for item in items if _uses_database(item)]
        config.hook.pytest_deselected(items=[item for item in items if not _uses_database(item)])
        items[:] = chosen


def _uses_database(item: pytest.Item) -> bool:
    fixtures = getattr(item, "fixturenames", ())
    return item.get_closest_marker("django_db") is not None or not _DATABASE_FIXTURES.isdisjoint(fixtures)


_DATABASE_FIXTURES = frozenset({"db", "transactional_db", "live_server"})


def pytest_report_header() -> str:
    return f"database: {os.environ.get('TEST_DATABASE', 'sqlite')}"


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    _open.close()


@pytest.fixture
def postgres_only() -> None:
    """For what SQLite cannot show: two writers at once, PostgreSQL's own errors. A named skip there."""
    if os.environ.get("TEST_DATABASE", "sqlite") != "postgres":
        pytest.skip("needs two writers at once, or PostgreSQL's own errors: runs on PostgreSQL")
