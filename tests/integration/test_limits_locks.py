"""SQLite has one writer: who cannot become it in time is told to come again."""

from __future__ import annotations

import sqlite3
import traceback
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client

from resetdelivery.account_locks import is_lock_timeout
from resetdelivery.exceptions import AccountBusy
from resetdelivery.models import LimitUse, ResetIntent
from resetdelivery.services import request_reset

pytestmark = pytest.mark.django_db(transaction=True)

MARKED = "marked-reference"


@pytest.fixture
def _other_writer(transactional_db: None) -> Iterator[None]:
    """Another process that writes, and a connection of ours that waits a short while only."""
    if connection.vendor != "sqlite":
        pytest.skip("about SQLite's one writer: runs on SQLite")
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout = 20")
    with closing(sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")
    connection.close()


@pytest.mark.usefixtures("_other_writer")
def test_a_database_that_is_locked_is_an_error_of_its_own() -> None:
    with pytest.raises(AccountBusy) as busy:
        request_reset(account_ref=MARKED, channels=["email"])
    assert busy.value.of == "account"
    told = "".join(traceback.format_exception(busy.value))
    assert (MARKED in told, "database is locked" in told) == (False, False)
    assert (ResetIntent.objects.count(), LimitUse.objects.count()) == (0, 0)


@pytest.mark.usefixtures("_other_writer")
def test_the_forgot_page_asks_to_send_it_again(client: Client) -> None:
    busy = client.post("/accounts/forgot/", {"email": "anna@shop.example"})
    assert (busy.status_code, b"send it again" in busy.content) == (503, True)
    assert b"anna@shop.example" in busy.content  # typed once is enough


class Cause(Exception):
    """A driver's error, with what drivers say beside the text."""

    def __init__(self, **facts: Any) -> None:
        self.__dict__.update(facts)


@pytest.mark.parametrize(
    ("facts", "is_timeout"),
    [
        ({"sqlstate": "55P03"}, True),  # lock_not_available
        ({"sqlstate": "40P01"}, True),  # deadlock_detected
        ({"sqlstate": "57014"}, False),  # query_canceled: the statement itself took too long
        ({"sqlstate": "53300"}, False),  # too_many_connections
        ({"sqlstate": None}, False),  # the server went away
        ({"pgcode": "55P03"}, True),  # psycopg 2
        ({"sqlite_errorcode": 5}, True),  # SQLITE_BUSY
        ({"sqlite_errorcode": 517}, True),  # SQLITE_BUSY_SNAPSHOT
        ({"sqlite_errorcode": 6}, True),  # SQLITE_LOCKED
        ({"sqlite_errorcode": 10}, False),  # SQLITE_IOERR
        ({}, False),
    ],
)
def test_only_a_lock_that_was_not_to_be_had_is_a_lock_timeout(
    facts: dict[str, Any], is_timeout: bool
) -> None:
    error = OperationalError("text")
    error.__cause__ = Cause(**facts)
    assert is_lock_timeout(error) is is_timeout
