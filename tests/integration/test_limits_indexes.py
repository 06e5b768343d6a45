"""An admission must not read more as tables grow: its look-ups are explained and looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from resetdelivery.clock import database_now
from resetdelivery.models import Delivery, LimitUse
from resetdelivery.services import request_reset
from tests.steps import store

#: Committed rows: what ``ANALYZE`` learns of rows that are rolled back would outlast the test.
pytestmark = pytest.mark.django_db(transaction=True)

EXPLAIN = {"postgresql": "EXPLAIN ", "sqlite": "EXPLAIN QUERY PLAN "}


def ask() -> None:
    request_reset(account_ref="7", channels=["email", "sms"])


@pytest.fixture(autouse=True)
def _many_rows() -> None:
    """So many that the planner has a reason to look one up: on an empty table any way is as cheap."""
    store(3000)
    now = database_now(connection)
    LimitUse.objects.bulk_create(
        LimitUse(key_digest=f"t1:{number}", used_at=now, counted=True) for number in range(3000)
    )
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")


def plan(step: Callable[[], object], table: str) -> str:
    """How the database runs the last statement of ``step`` that reads ``table``."""
    with CaptureQueriesContext(connection) as captured:
        step()
    *_, sql = (query["sql"] for query in captured.captured_queries if f'FROM "{table}"' in query["sql"])
    with connection.cursor() as cursor:
        cursor.execute(EXPLAIN[connection.vendor] + sql)
        return "\n".join(str(row[-1]) for row in cursor.fetchall())


def test_uses_are_counted_by_their_index() -> None:
    found = plan(ask, LimitUse._meta.db_table)
    assert "resetdelivery_limit_use" in found
    assert not whole(found)


def test_an_open_intent_is_looked_for_by_an_index_of_open_ones() -> None:
    found = plan(ask, Delivery._meta.db_table)
    assert "resetdelivery_intent_o" in found  # "…_one_wanted" or "…_open"
    assert not whole(found)


def test_a_whole_scan_would_be_seen() -> None:
    def read_all() -> Any:
        return LimitUse.objects.filter(counted=True).count()

    assert whole(plan(read_all, LimitUse._meta.db_table))


def whole(found: str) -> bool:
    """Whether a table is read from end to end."""
    return "Seq Scan" in found or any(line.startswith("SCAN") for line in found.splitlines())
