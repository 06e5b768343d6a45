"""What the capacity model counts of a database's work is what is done."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery.delivery import deliver
from resetdelivery.domain.scale import (
    ADMISSION_ROWS,
    ADMISSION_STATEMENTS,
    BATCH_STATEMENTS,
    BATCH_TRANSACTIONS,
    DELIVERY_ROWS,
    WAVE_STATEMENTS,
    WAVE_TRANSACTIONS,
)
from resetdelivery.services import request_reset

pytestmark = pytest.mark.django_db(transaction=True)
Make = Callable[..., Any]


@pytest.fixture(autouse=True)
def _warm(make_account: Make, email: ScriptedTransport) -> None:
    """What is read once in a process is read."""
    _admitted(make_account, 1)
    deliver(Channel.EMAIL, fill_at_once=True)


def _admitted(make_account: Make, number: int) -> list[str]:
    refs = [str(make_account().pk) for _ in range(number)]
    return [sql for ref in refs for sql in _seen(partial(request_reset, account_ref=ref, channels=["email"]))]


def _seen(act: Callable[[], object]) -> list[str]:
    with CaptureQueriesContext(connection) as queries:
        act()
    return [query["sql"] for query in queries.captured_queries]


def _delivered() -> list[str]:
    return _seen(lambda: deliver(Channel.EMAIL, fill_at_once=True))


def _begun(statements: list[str]) -> int:
    return sum(sql.startswith("BEGIN") for sql in statements)


@pytest.mark.parametrize(("rows", "waves"), [(1, 1), (16, 1), (17, 2), (40, 3)])
def test_a_batch_makes_as_many_statements_and_transactions_as_the_model_counts(
    make_account: Make, rows: int, waves: int
) -> None:
    _admitted(make_account, rows)
    made = _delivered()
    assert len(made) == BATCH_STATEMENTS + waves * WAVE_STATEMENTS
    assert _begun(made) == BATCH_TRANSACTIONS + waves * WAVE_TRANSACTIONS


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite takes no locks by statement")
def test_an_admission_makes_as_many_statements_as_the_model_counts(make_account: Make) -> None:
    assert len(_admitted(make_account, 1)) == ADMISSION_STATEMENTS


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite does not count its rows")
def test_a_reset_writes_as_many_row_versions_as_the_model_counts(make_account: Make) -> None:
    before = _row_versions()
    _admitted(make_account, 10)
    admitted = _row_versions()
    _delivered()
    assert (admitted - before) / 10 == ADMISSION_ROWS
    assert (_row_versions() - admitted) / 10 == DELIVERY_ROWS


def _row_versions() -> int:
    """Of our tables, all that were ever written; accounts are somebody else's."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(
            "SELECT COALESCE(sum(n_tup_ins + n_tup_upd), 0) FROM pg_stat_user_tables "
            "WHERE relname LIKE 'resetdelivery_%%'"
        )
        return int(cursor.fetchone()[0])
