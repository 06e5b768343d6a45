"""A round reads what may go, and not what is of use: its look-ups are explained and looked at."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from resetdelivery.clock import database_now
from resetdelivery.domain.retention import PurgeStep
from resetdelivery.models import Attempt, LimitUse, ResetIntent, RollupState
from resetdelivery.retention.purge import STEPS
from resetdelivery.retention.rounds import begin
from tests.steps import store

#: Committed rows: what ``ANALYZE`` learns of rows that are rolled back would outlast the test.
pytestmark = pytest.mark.django_db(transaction=True)

EXPLAIN = {"postgresql": "EXPLAIN ", "sqlite": "EXPLAIN QUERY PLAN "}
ROWS = 3000
INDEXES = {
    PurgeStep.SHADOW_REFS: "resetdelivery_intent_scrub",
    PurgeStep.ACCOUNT_REFS: "resetdelivery_intent_scrub",
    PurgeStep.DECOYS: "resetdelivery_intent_scrub",
    PurgeStep.PROVIDER_REFERENCES: "resetdelivery_attempt_named",
    PurgeStep.ATTEMPTS: "resetdelivery_attempt_started",
    PurgeStep.INTENTS: "resetdelivery_intent_created",
}


@pytest.fixture(autouse=True)
def _many_rows() -> None:
    """So many that the planner has a reason to look one up; all of them young and counted."""
    now = database_now(connection)
    deliveries = store(ROWS, state="accepted", finished_at=now)
    ResetIntent.objects.update(state="closed", closed_at=now)
    Attempt.objects.bulk_create(
        Attempt(
            delivery=delivery,
            number=1,
            token=1,
            started_at=now,
            outcome="accepted",
            queue_delay_seconds=0,
            remaining_seconds=0,
            transport="smtp",
            worker="one",
            provider_reference="" if number % 100 else "SM123",
        )
        for number, delivery in enumerate(deliveries)
    )
    LimitUse.objects.bulk_create(
        LimitUse(key_digest=f"t1:{number}", used_at=now, counted=True) for number in range(ROWS)
    )
    RollupState.objects.update_or_create(pk=1, defaults={"closed_before": now})
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")


def looks(step: PurgeStep) -> list[str]:
    """The statements by which a step looks for what may go."""
    round_ = begin(connection)
    with CaptureQueriesContext(connection) as captured:
        list(STEPS[step](round_))
    return [query["sql"] for query in captured.captured_queries if query["sql"].startswith("SELECT")]


def plan(step: PurgeStep) -> str:
    """How the database runs a step's first look."""
    with connection.cursor() as cursor:
        cursor.execute(EXPLAIN[connection.vendor] + looks(step)[0])
        return "\n".join(str(row[-1]) for row in cursor.fetchall())


def test_what_may_go_is_found_by_the_order_of_its_age() -> None:
    plans = {step: plan(step) for step in INDEXES}
    assert {step: found for step, found in plans.items() if INDEXES[step] not in found} == {}


def test_uses_are_read_from_their_beginning_and_no_further_than_one_batch() -> None:
    found = plan(PurgeStep.LIMIT_USES)
    assert "resetdelivery_limituse_pkey" in found or "INTEGER PRIMARY KEY" in found
    assert len(looks(PurgeStep.LIMIT_USES)) == 1
