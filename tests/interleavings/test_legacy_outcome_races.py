"""Reports of an existing sender beside each other, and beside our own work on the delivery."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery.claims.sql import INTENT
from resetdelivery.delivery import deliver
from resetdelivery.models import ChannelControl, EventMinute
from resetdelivery.rollout import OutcomeConflict
from resetdelivery.services import report_legacy_outcome, request_reset
from tests.conftest import the_delivery
from tests.interleavings.racing import behind, together

LOCK = f"SELECT 1 FROM {INTENT} WHERE reference = %s FOR NO KEY UPDATE"


@pytest.fixture
def reference(make_account: Callable[..., Any], email: ScriptedTransport) -> uuid.UUID:
    ChannelControl.objects.filter(channel="email").update(mode="shadow")
    return request_reset(account_ref=str(make_account().pk), channels=["email"]).reference


def report(reference: uuid.UUID, outcome: str) -> object:
    try:
        return report_legacy_outcome(reference, "email", outcome)
    except OutcomeConflict:
        return "conflict"


def counted() -> dict[str, int]:
    return dict(EventMinute.objects.filter(event="legacy_reported").values_list("label", "count"))


@pytest.mark.parametrize(("others", "second"), [("accepted", "False"), ("failed", "conflict")])
def test_of_two_reports_at_once_one_is_kept_and_counted(
    reference: uuid.UUID, others: str, second: str
) -> None:
    answers = behind(
        LOCK,
        [str(reference)],
        lambda: report(reference, "accepted"),
        lambda: report(reference, others),
    )
    assert sorted(map(str, answers)) == sorted(["True", second])
    assert counted() == {f"open:{the_delivery().legacy_outcome}": 1}


def test_a_report_beside_the_end_of_ours_loses_neither(reference: uuid.UUID) -> None:
    together(lambda: report(reference, "accepted"), lambda: deliver(Channel.EMAIL))
    # A claim passes over the row while the report holds it; the next one takes it.
    deliver(Channel.EMAIL, fill_at_once=True)
    row = the_delivery()
    assert (row.state, row.legacy_outcome) == ("shadowed", "accepted")
    ((label, number),) = counted().items()
    assert label in {"open:accepted", "shadowed:accepted"}
    assert number == 1
