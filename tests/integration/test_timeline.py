from __future__ import annotations

from typing import Any

import pytest

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery.delivery import deliver
from resetdelivery.models import Delivery, ResetIntent
from resetdelivery.recovery import sweep
from resetdelivery.services import cancel_resets, explain, request_reset
from tests.conftest import UseTransport, age
from tests.steps import ACCEPTED, BUSY, answer, record, store, take

pytestmark = pytest.mark.django_db


def texts(reference: Any) -> list[tuple[str, str]]:
    return [(event.channel, event.text) for event in explain(reference).events]


def test_a_reset_that_waits_says_so(account: Any) -> None:
    reference = request_reset(account_ref=str(account.pk), channels=["email"]).reference
    assert texts(reference) == [("", "requested"), ("email", "due")]


def test_a_reset_is_told_from_its_request_to_its_end(account: Any, use_transport: UseTransport) -> None:
    use_transport(Channel.EMAIL, ScriptedTransport(outcomes=[BUSY]))
    reference = request_reset(account_ref=str(account.pk), channels=["email"]).reference
    deliver(Channel.EMAIL)
    assert texts(reference)[-1] == ("email", "due after provider busy")
    deliver(Channel.EMAIL)
    told = [text for _, text in texts(reference)]
    assert told[0] == "requested"
    assert told[1].startswith("attempt 1 started, ")
    assert told[2] == "attempt 1 transient: provider busy"
    assert "attempt 2 accepted: ok" in told
    assert {"accepted", "closed: nothing more can happen"} <= set(told)


def test_events_come_oldest_first_with_the_seconds_since_the_first(
    account: Any, email: ScriptedTransport
) -> None:
    reference = request_reset(account_ref=str(account.pk), channels=["email", "sms"]).reference
    deliver(Channel.EMAIL)
    timeline = explain(reference)
    moments = [event.at for event in timeline.events]
    assert moments == sorted(moments)
    assert timeline.lines()[0].split() == ["+", "0.000", "s", "requested"]


def test_a_cancel_and_its_reason_are_told(account: Any) -> None:
    reference = request_reset(account_ref=str(account.pk), channels=["email"]).reference
    cancel_resets(account_ref=str(account.pk))
    told = texts(reference)
    assert ("", "asked to stop: withdrawn") in told
    assert ("email", "cancelled: withdrawn") in told


def test_a_worker_that_came_back_late_is_told() -> None:
    (row,) = store(overdue=5)
    marked = record(take())
    age(60)
    sweep()
    answer(marked, ACCEPTED)
    told = [text for _, text in texts(row.intent.reference)]
    assert "attempt 1 ambiguous: lost (its worker came back later: accepted)" in told


def test_nothing_personal_is_in_a_timeline(account: Any, email: ScriptedTransport) -> None:
    reference = request_reset(account_ref=str(account.pk), channels=["email", "sms"]).reference
    deliver(Channel.EMAIL)
    timeline = explain(reference)
    shown = repr(timeline) + "\n".join(timeline.lines())
    assert str(reference) in shown
    assert not [word for word in (account.email, account.phone, account.username) if word in shown]


def test_an_intent_that_does_not_exist_is_said_not_to(account: Any) -> None:
    request_reset(account_ref=str(account.pk), channels=["email"])
    with pytest.raises(ResetIntent.DoesNotExist):
        explain(Delivery.objects.get().reference)
