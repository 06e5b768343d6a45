"""The example's worker against the real application, with a clock that a test can move on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from examples.external_worker.boundary import Answer, Boundary, TryAgain
from examples.external_worker.worker import Worker
from notifications.deadline import Deadline
from notifications.message import Message
from notifications.outcome import Outcome
from notifications.testing import ScriptedTransport
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import Attempt, Delivery
from tests.integration import work_calls
from tests.integration.external_steps import LEASE, reset_for
from tests.internal_api import Service
from tests.steps import BUSY

pytestmark = pytest.mark.django_db


@dataclass(frozen=True, slots=True, kw_only=True)
class Near(Boundary):
    """The boundary without a network between: what was called, and whose answers get lost."""

    service: Service
    calls: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    def post(self, path: str, **fields: object) -> Answer:
        step = path.rpartition("/")[2]
        self.calls.append(step)
        answer = self.service.post(f"/internal/delivery-work/{path}", fields)
        if step in self.lost:
            self.lost.remove(step)
            raise TryAgain(0)
        return Answer(status=answer.status_code, content=answer.get_json(force=True))


class Slow(ScriptedTransport):
    """Takes its time over each message, on its own clock."""

    def __init__(self, seconds: float, outcomes: list[Outcome] | None = None) -> None:
        super().__init__(outcomes=outcomes or [])
        self.seconds = seconds
        self.now = 1000.0

    def clock(self) -> float:
        return self.now

    def submit(self, message: Message, deadline: Deadline) -> Outcome:
        assert deadline.at == self.now + 15
        self.now += self.seconds
        return super().submit(message, deadline)


@pytest.fixture
def near(db: None) -> Near:
    return Near(url="", key="", service=work_calls.mailer())


def worker(near: Near, transport: Slow) -> Worker:
    return Worker(
        boundary=near,
        transports={"email": transport},
        worker_id="w1",
        lease_seconds=LEASE,
        clock=transport.clock,
    )


@pytest.mark.parametrize(("seconds", "renewals"), [(1, 0), (LEASE / 2 + 1, 2 + 1)])
def test_what_waits_for_its_turn_is_renewed_when_half_of_its_lease_is_over(
    near: Near, make_account: Any, seconds: float, renewals: int
) -> None:
    for _ in range(3):
        reset_for(make_account())
    assert worker(near, Slow(seconds)).run_once() == 3
    assert near.calls.count("renew") == renewals
    assert set(Delivery.objects.values_list("state", flat=True)) == {DeliveryState.ACCEPTED}


def test_an_outcome_whose_answer_was_lost_is_told_again_and_settled_once(near: Near, account: Any) -> None:
    reset_for(account)
    near.lost.append("outcome")
    worker(near, Slow(0, [BUSY])).run_once()
    attempt = Attempt.objects.get()
    assert near.calls == ["claim", "message", "outcome", "outcome"]
    assert (attempt.outcome, attempt.late_outcome) == ("transient", "")


def test_a_message_that_was_lost_on_its_way_is_not_sent(near: Near, account: Any) -> None:
    reset_for(account)
    near.lost.append("message")
    transport = Slow(0)
    with pytest.raises(TryAgain):
        worker(near, transport).run_once()
    assert transport.messages == []
    assert Delivery.objects.get().state == DeliveryState.SUBMITTING


def test_what_must_not_be_sent_any_more_is_passed_over(near: Near, make_account: Any) -> None:
    accounts = [make_account(), make_account()]
    for account in accounts:
        reset_for(account)
    accounts[0].email = "elsewhere@example.com"
    accounts[0].save()
    transport = Slow(0)
    worker(near, transport).run_once()
    assert [message.to for message in transport.messages] == [accounts[1].email]
    assert near.calls == ["claim", "message", "message", "outcome"]
