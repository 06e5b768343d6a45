"""Reads that must end in time, whatever the database is busy with."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper

#: Steps of SQLite's virtual machine between two looks at the clock: about a tenth of a millisecond.
_SQLITE_STEPS = 10_000


@contextmanager
def time_limit(connection: BaseDatabaseWrapper, seconds: float) -> Iterator[None]:
    """Statements inside that are not done ``seconds`` from now raise ``OperationalError``.

    For reads: on PostgreSQL they are in one transaction; on SQLite in none, as one of Django's
    would wait for whoever writes.
    """
    ends = time.monotonic() + seconds
    if connection.vendor == "sqlite":
        with _interrupted(connection, ends):
            yield
        return
    with ExitStack() as stack:
        stack.enter_context(transaction.atomic(using=connection.alias))
        stack.enter_context(connection.execute_wrapper(partial(_with_what_is_left, ends)))
        yield
        # A transaction around ours goes on as it was.
        _limit(connection, "DEFAULT")


@contextmanager
def _interrupted(connection: BaseDatabaseWrapper, ends: float) -> Iterator[None]:
    connection.ensure_connection()
    sqlite: Any = connection.connection
    sqlite.set_progress_handler(lambda: time.monotonic() > ends, _SQLITE_STEPS)
    try:
        yield
    finally:
        sqlite.set_progress_handler(None, 0)


def _with_what_is_left(
    ends: float, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]
) -> Any:
    # Zero would mean no limit at all.
    milliseconds = max(1, round((ends - time.monotonic()) * 1000))
    _limit(context["connection"], str(milliseconds))
    return execute(sql, params, many, context)


def _limit(connection: BaseDatabaseWrapper, value: str) -> None:
    # Past Django's own cursor, which would ask for what is left again.
    with connection.wrap_database_errors, connection.connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL statement_timeout = {value}")
