"""A database that fails or is too slow: the page says so, and tells nothing that is half true."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from django.db import OperationalError, connection, router, transaction
from django.db.models import QuerySet

from resetdelivery.domain.api_key import Scope
from resetdelivery.models import EventTotal, OutcomeTotal
from resetdelivery.telemetry import metric_names as names
from resetdelivery.telemetry.metrics import scrape as scraping
from resetdelivery.telemetry.metrics.samples import samples
from resetdelivery.telemetry.metrics.scrape import scrape
from resetdelivery.telemetry.time_limit import time_limit
from tests.brokers import Queue
from tests.integration.conftest import Settings
from tests.internal_api import service
from tests.steps import seconds

pytestmark = pytest.mark.django_db(transaction=True)

COUNTING = "WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s"
#: Takes for ever, for all that a test could wait.
ENDLESS = {"postgresql": "SELECT pg_sleep(600)", "sqlite": f"{COUNTING}) SELECT MAX(i) FROM s"}
OWN = {names.SCRAPE_SUCCESS, names.SCRAPE_DURATION}


def execute(sql: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall()


def run_endlessly(*_: Any) -> None:
    execute(ENDLESS[connection.vendor])


@contextmanager
def elsewhere(*statements: str) -> Iterator[None]:
    """A transaction on a connection of its own, open while the block runs."""
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            yield
            cursor.execute("ROLLBACK")
    finally:
        other.close()


def lock_table(table: str) -> list[str]:
    return ["BEGIN", f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"]


def broken(*_: Any) -> None:
    raise OperationalError("could not look for anna@shop.example")


@pytest.mark.parametrize("reader", ["read_counters", "read_current"])
def test_of_a_database_that_fails_nothing_is_told_but_that(
    monkeypatch: pytest.MonkeyPatch, reader: str
) -> None:
    monkeypatch.setattr(scraping, reader, broken)
    found = samples(scrape())
    assert found.keys() == OWN
    assert found[names.SCRAPE_SUCCESS] == {(): 0}


def test_what_was_read_before_the_failure_is_not_told_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QuerySet, "in_bulk", broken)
    OutcomeTotal.objects.create(channel="email", outcome="accepted", template_version="1", attempts=1)
    assert samples(scrape()).keys() == OWN


def test_the_broker_is_told_about_all_the_same(monkeypatch: pytest.MonkeyPatch, queue: Queue) -> None:
    monkeypatch.setattr(scraping, "read_counters", broken)
    assert samples(scrape()).keys() == {*OWN, names.BROKER_UP, names.QUEUE_LENGTH}


def test_an_error_is_logged_by_its_class_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(scraping, "read_counters", broken)
    scrape()
    logged = caplog.text + "".join(capsys.readouterr())
    assert "scrape_failed" in logged
    assert "OperationalError" in logged
    assert "anna" not in logged


def test_a_page_is_answered_within_the_timeout_and_the_next_one_is_whole(
    monkeypatch: pytest.MonkeyPatch, change: Settings
) -> None:
    prometheus = service("prometheus", [Scope.HEALTH_READ])
    change(SCRAPE_TIMEOUT=seconds(0.1))
    with monkeypatch.context() as patch:
        patch.setattr(scraping, "read_counters", run_endlessly)
        slow = prometheus.get("/internal/metrics")
    change(SCRAPE_TIMEOUT=seconds(60))
    quick = prometheus.get("/internal/metrics")
    assert (slow.status_code, quick.status_code) == (200, 200)
    assert "resetdelivery_scrape_success 0.0" in slow.get_data(as_text=True)
    assert "_total" not in slow.get_data(as_text=True)
    assert "resetdelivery_scrape_success 1.0" in quick.get_data(as_text=True)


def test_a_locked_table_holds_up_nobody_for_longer_than_the_timeout(
    postgres_only: None, change: Settings
) -> None:
    change(SCRAPE_TIMEOUT=seconds(0.1))
    with elsewhere(*lock_table(EventTotal._meta.db_table)):
        assert samples(scrape()).keys() == OWN
    change(SCRAPE_TIMEOUT=seconds(60))
    assert names.ADMITTED in samples(scrape())


def test_whoever_writes_does_not_hold_up_a_scrape() -> None:
    begin = {"postgresql": ["BEGIN"], "sqlite": ["BEGIN IMMEDIATE"]}[connection.vendor]
    state = "INSERT INTO resetdelivery_rollupstate (id) VALUES (1)"
    with elsewhere(*begin, state):
        assert names.ADMITTED in samples(scrape())


def test_statements_that_are_short_one_by_one_share_the_limit(postgres_only: None) -> None:
    def many() -> None:
        for _ in range(2000):
            execute("SELECT pg_sleep(0.005)")

    with pytest.raises(OperationalError), time_limit(connection, 0.1):
        many()


def test_an_endless_statement_ends_with_the_limit() -> None:
    with pytest.raises(OperationalError), time_limit(connection, 0.05):
        run_endlessly()


def limits_differ() -> bool:
    """Whether PostgreSQL's limit is another one than the connection began with."""
    ((now, usual),) = execute("SELECT setting, reset_val FROM pg_settings WHERE name = 'statement_timeout'")
    return bool(now != usual)


@pytest.mark.parametrize("inside", [lambda: None, run_endlessly])
def test_what_comes_after_it_has_no_limit_of_ours(inside: Callable[[], None]) -> None:
    with suppress(OperationalError), time_limit(connection, 0.05):
        inside()
    if connection.vendor == "postgresql":
        assert not limits_differ()
    else:
        # Many times as much as is done between two looks at the clock.
        execute(f"{COUNTING} WHERE i < 300000) SELECT MAX(i) FROM s")


def test_a_transaction_around_it_goes_on_without_it(postgres_only: None) -> None:
    with transaction.atomic():
        with time_limit(connection, 30):
            execute("SELECT 1")
        assert not limits_differ()


def test_no_replica_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(router, "db_for_read", lambda *_, **__: pytest.fail("a replica would be asked"))
    assert names.ADMITTED in samples(scrape())
