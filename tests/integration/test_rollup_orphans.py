"""Attempts without an outcome that nobody will end any more."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from resetdelivery.models import Attempt, Delivery, OutcomeTotal
from resetdelivery.telemetry.rollup import roll_up
from tests.rolled import closed_before, pass_minutes
from tests.steps import answer, record, store, take

pytestmark = pytest.mark.django_db

ENDED = {
    "state": "accepted",
    "finished_at": dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
    "lease_owner": "",
    "lease_expires_at": None,
}


@pytest.mark.parametrize(
    "fields",
    [ENDED, {"state": "leased"}, {"lease_token": 7}],
    ids=["ended", "taken anew", "submitting under another token"],
)
def test_an_attempt_that_its_delivery_left_behind_holds_no_minute_open(fields: dict[str, Any]) -> None:
    (row,) = store()
    record(take())
    Delivery.objects.filter(pk=row.pk).update(**fields)
    pass_minutes(5)
    store()
    answer(record(take()))
    pass_minutes(30)
    roll_up()
    known = closed_before()
    assert known is not None
    assert Attempt.objects.filter(outcome="", started_at__lt=known).count() == 1
    assert OutcomeTotal.objects.get().attempts == 1
