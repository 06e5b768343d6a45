"""Uses are kept as long as a window may count them, and no longer."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.db import connection

from notifications.testing import ScriptedTransport
from resetdelivery import tasks
from resetdelivery.clock import database_now
from resetdelivery.domain.retention import PurgeStep
from resetdelivery.models import LimitUse, ResetIntent
from resetdelivery.poller import Poller
from resetdelivery.retention import purge
from resetdelivery.schedule import BEAT_SCHEDULE
from resetdelivery.services import request_reset
from tests.conftest import age
from tests.integration.conftest import Settings
from tests.steps import seconds

pytestmark = pytest.mark.django_db

DAY = 24 * 3600


def store(*ages: float, counted: bool = True) -> None:
    """Uses of one key, ``ages`` seconds old, in that order."""
    now = database_now(connection)
    LimitUse.objects.bulk_create(
        LimitUse(key_digest="t1:0", used_at=now - seconds(back), counted=counted) for back in ages
    )


def purge_uses(*, limit: int | None = None) -> int:
    """Purge; how many uses went."""
    return purge(limit=limit).rows[PurgeStep.LIMIT_USES]


def left() -> int:
    return LimitUse.objects.count()


@pytest.mark.parametrize(
    ("ages", "deleted"),
    [([], 0), ([10], 0), ([DAY - 60], 0), ([DAY + 60], 1), ([DAY + 60, DAY + 1, 10, 0], 2)],
)
def test_what_no_window_holds_any_more_is_deleted(ages: list[float], deleted: int) -> None:
    store(*ages)
    assert (purge_uses(), left()) == (deleted, len(ages) - deleted)


def test_what_did_not_count_goes_too() -> None:
    store(DAY + 60, counted=False)
    assert (purge_uses(), left()) == (1, 0)


def test_many_are_deleted_in_batches(change: Settings) -> None:
    change(PURGE_BATCH=10)
    store(*[DAY + 60] * 35, 0)
    assert (purge_uses(), left()) == (35, 1)


@pytest.mark.parametrize(("limit", "deleted"), [(0, 0), (7, 10), (10, 10), (25, 30)])
def test_no_batch_begins_once_a_run_deleted_what_it_may(limit: int, deleted: int, change: Settings) -> None:
    change(PURGE_BATCH=10)
    store(*[DAY + 60] * 35)
    assert (purge_uses(limit=limit), left()) == (deleted, 35 - deleted)


def test_a_row_out_of_order_is_taken_by_a_later_run(change: Settings) -> None:
    change(PURGE_BATCH=2)
    store(DAY + 60, DAY - 60, DAY + 60)
    assert purge_uses() == 1
    age(120)
    assert (purge_uses(), left()) == (2, 0)


def test_a_limit_that_was_used_up_stays_so_until_its_time(
    account: Any, change: Settings, email: ScriptedTransport
) -> None:
    change(ACCOUNT_PER_HOUR=1, ACCOUNT_PER_DAY=1)
    request_reset(account_ref=str(account.pk), channels=["email"])
    Poller().run_once()
    age(DAY - 60)
    purge_uses()
    limited = request_reset(account_ref=str(account.pk), channels=["email"])
    assert ResetIntent.objects.get(reference=limited.reference).cancel_reason == "account_limit"


def test_the_poller_purges(email: ScriptedTransport) -> None:
    store(DAY + 60)
    Poller().run_once()
    assert left() == 0


def test_the_control_worker_purges() -> None:
    store(DAY + 60)
    tasks.purge()
    assert left() == 0


def test_beat_asks_the_control_worker_to_purge() -> None:
    entry = BEAT_SCHEDULE["resetdelivery purge"]
    assert (entry["task"], entry["options"]["queue"]) == ("resetdelivery.purge", "control")
    assert entry["options"]["expires"] == entry["schedule"]


def test_a_purge_says_how_many_and_a_needless_one_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    purge_uses()
    assert "limit_uses" not in caplog.text
    store(*[DAY + 60] * 3)
    purge_uses()
    assert "'step': 'limit_uses'" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_a_purge_passes_over_rows_that_somebody_holds(postgres_only: None) -> None:
    store(DAY + 60, DAY + 60)
    held = LimitUse.objects.order_by("pk").values_list("pk", flat=True)[0]
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute(f"SELECT 1 FROM {LimitUse._meta.db_table} WHERE id = %s FOR UPDATE", [held])
            assert purge_uses() == 1
            cursor.execute("ROLLBACK")
    finally:
        other.close()
    assert (purge_uses(), left()) == (1, 0)
