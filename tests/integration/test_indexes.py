"""What runs every second must not read finished rows: each statement is explained and looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from notifications.channels import Channel
from resetdelivery import fallback, recovery
from resetdelivery.claims import claim
from resetdelivery.clock import database_now
from resetdelivery.models import Delivery
from tests.steps import pause, seconds, store

pytestmark = pytest.mark.django_db

TABLE = Delivery._meta.db_table
#: On PostgreSQL every index of the table has a name that begins with the table's.
PARTIAL = {index.name for index in Delivery._meta.indexes}
EXPLAIN = {"postgresql": "EXPLAIN (FORMAT JSON) ", "sqlite": "EXPLAIN QUERY PLAN "}


@contextmanager
def whole_scans() -> Iterator[list[str]]:
    """Collects how deliveries are read inside, wherever a partial index or a key does not serve."""
    found: list[str] = []
    explaining = False

    def explain(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal explaining
        if TABLE in sql and not explaining:
            explaining = True
            with connection.cursor() as cursor:
                cursor.execute(EXPLAIN[connection.vendor] + sql, params)
                found.extend(_READERS[connection.vendor](cursor.fetchall()))
            explaining = False
        return execute(sql, params, many, context)

    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # On an empty table the planner would read it whole; here only if nothing else can serve.
            cursor.execute("SET LOCAL enable_seqscan = off")
    with connection.execute_wrapper(explain):
        yield found


def _postgres(rows: list[Any]) -> Iterator[str]:
    nodes = [plan["Plan"] for plan in rows[0][0]]
    while nodes:
        node = nodes.pop()
        nodes += node.get("Plans", [])
        index = node.get("Index Name", "")
        whole = node["Node Type"] == "Seq Scan" and node["Relation Name"] == TABLE
        if whole or (index.startswith(TABLE) and not _served(index, node.get("Index Cond", ""))):
            yield f"{node['Node Type']} {index}"


def _served(index: str, condition: str) -> bool:
    """A partial index, the key, or the unique index led by the intent; not a walk through one."""
    return index in PARTIAL or index == f"{TABLE}_pkey" or "intent_id" in condition


def _sqlite(rows: list[Any]) -> Iterator[str]:
    for *_, detail in rows:
        index = detail.rpartition(" INDEX ")[2].partition(" ")[0]
        if detail.startswith(f"SCAN {TABLE}") and index not in PARTIAL:
            yield detail


_READERS = {"postgresql": _postgres, "sqlite": _sqlite}


def run_claim() -> None:
    claim(
        Channel.EMAIL,
        ids=[1, 2],
        limit=50,
        lease_seconds=30,
        useful_floor_seconds=5,
        fill_after_seconds=1,
        probe_after_seconds=30,
        owner="test",
        using="default",
    )


def take_hints() -> None:
    recovery._take_hints(connection, Channel.EMAIL, "outcome <> '' AND hinted_at IS NULL", [])


def count_ready() -> None:
    recovery._has_room(connection, Channel.EMAIL)


def arm_behind_a_pause() -> None:
    store(channel=Channel.SMS, state="waiting", arm_at=database_now(connection) + seconds(60))
    pause(Channel.EMAIL)
    fallback.arm_due()


def arm_what_is_due() -> None:
    store(channel=Channel.SMS, state="waiting", arm_at=database_now(connection))
    fallback.arm_due()


STEPS = [
    *(run_claim, take_hints, count_ready),
    *(recovery.sweep, recovery.expire_overdue, arm_what_is_due, arm_behind_a_pause),
]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_a_step_that_runs_all_the_time_reads_no_finished_delivery(step: Callable[[], Any]) -> None:
    with whole_scans() as found:
        step()
    assert found == []


def test_a_whole_scan_would_be_seen() -> None:
    with whole_scans() as found:
        Delivery.objects.filter(reason="nothing indexes this").count()
    assert len(found) == 1


def test_an_expiry_step_over_finished_states_would_be_seen() -> None:
    with whole_scans() as found:
        Delivery.objects.filter(channel="email", state__in=["pending", "failed"]).count()
    assert len(found) == 1
