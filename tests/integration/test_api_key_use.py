"""When a key was last used: kept to the minute, and never at the cost of the request."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import Error, connection, transaction

from resetdelivery.api_keys import Caller, NewKey, authenticate, create_client_key
from resetdelivery.clock import database_now
from resetdelivery.domain.api_key import Scope
from resetdelivery.models import ApiKey
from tests.interleavings.racing import CEILING_SECONDS, alone, holding
from tests.key_uses import statements, use, used

pytestmark = pytest.mark.django_db


@pytest.fixture
def key(db: None) -> NewKey:
    return create_client_key(client="shop-web", scopes=[Scope.WORK_CLAIM], who="ada")


def test_the_first_use_is_noted_at_the_databases_time(key: NewKey) -> None:
    before = database_now(connection)
    authenticate(key.text)
    at = used(key)
    assert at is not None
    assert before <= at <= database_now(connection)


def test_a_use_within_the_minute_writes_nothing(key: NewKey) -> None:
    before = use(key, seconds_ago=20)
    with statements() as sent:
        authenticate(key.text)
    assert used(key) == before
    assert not [sql for sql in sent if "UPDATE" in sql]


def test_a_use_after_the_minute_is_noted_by_one_update(key: NewKey) -> None:
    before = use(key, seconds_ago=61)
    with statements() as sent:
        authenticate(key.text)
    at = used(key)
    assert at is not None
    assert at > before
    assert len([sql for sql in sent if sql.startswith("UPDATE")]) == 1


def test_two_who_both_found_the_use_old_note_it_once(key: NewKey) -> None:
    """The second one's statement comes after the first one's commit, and finds nothing to do."""
    use(key, seconds_ago=61)
    turns = iter(["ours"])
    noted: list[dt.datetime | None] = []

    def another_first(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith("UPDATE") and next(turns, None):
            noted.append(use(key, seconds_ago=1))
        return execute(sql, *rest)

    with connection.execute_wrapper(another_first):
        assert authenticate(key.text) is not None
    assert noted == [used(key)]


@contextmanager
def read_only() -> Iterator[None]:
    """A transaction in which nothing can be written."""
    postgres = connection.vendor == "postgresql"
    with connection.cursor() as cursor:
        with transaction.atomic():
            cursor.execute("SET TRANSACTION READ ONLY" if postgres else "PRAGMA query_only = ON")
            yield
            # PostgreSQL forgets what was set since the savepoint that this goes back to.
            transaction.set_rollback(True)
        if not postgres:
            cursor.execute("PRAGMA query_only = OFF")


def test_a_use_that_cannot_be_written_is_no_error_and_the_transaction_goes_on(key: NewKey) -> None:
    with read_only():
        assert authenticate(key.text) is not None
        assert used(key) is None


def with_errors_noted(key: NewKey) -> tuple[Caller | None, list[str]]:
    """Who it is, and which statements failed on the way: whoever waits here is soon told to stop."""
    failed: list[str] = []

    def note(execute: Any, sql: str, *rest: Any) -> Any:
        try:
            return execute(sql, *rest)
        except Error:
            failed.append(sql)
            raise

    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '100ms'")
    with connection.execute_wrapper(note):
        return authenticate(key.text), failed


@pytest.mark.django_db(transaction=True)
def test_whoever_is_locking_the_key_is_not_waited_for(postgres_only: None, key: NewKey) -> None:
    with ThreadPoolExecutor(1) as pool, holding() as cursor:
        cursor.execute(f"SELECT id FROM {ApiKey._meta.db_table} FOR UPDATE")
        caller, failed = pool.submit(alone, lambda: with_errors_noted(key)).result(CEILING_SECONDS)
    assert caller is not None
    assert failed == []
    assert used(key) is None


@pytest.mark.django_db(transaction=True)
def test_on_sqlite_another_writer_is_not_waited_for_either(key: NewKey) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("SQLite's one lock for all writers")
    waits: list[int] = []

    def timeout() -> int:
        return int(connection.connection.execute("PRAGMA busy_timeout").fetchone()[0])

    def note(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith("BEGIN"):
            waits.append(timeout())
        return execute(sql, *rest)

    before = timeout()
    with other_writer(), connection.execute_wrapper(note):
        caller = authenticate(key.text)
    assert caller is not None
    assert used(key) is None
    assert waits == [0]
    assert timeout() == before > 0


@contextmanager
def other_writer() -> Iterator[None]:
    """Another connection that is in the middle of writing."""
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("BEGIN IMMEDIATE")
            yield
            cursor.execute("ROLLBACK")
    finally:
        other.close()
