"""Health from what was really sent and counted, without a row of counts written by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from notifications.outcome import OutcomeKind
from resetdelivery import upkeep
from resetdelivery.domain.health import WINDOWS, HealthReason, Verdict
from resetdelivery.services import request_reset
from resetdelivery.telemetry.health import ChannelHealth, DeliveryHealth, delivery_health
from resetdelivery.testing import deliver_now
from tests.conftest import age
from tests.moved_clock import moved_clock
from tests.steps import BUSY, CUT, answer, record, take

pytestmark = pytest.mark.django_db

__all__ = ["moved_clock"]


@pytest.fixture
def ask(make_account: Callable[..., Any]) -> Callable[[], None]:
    """A reset by email of a new account."""

    def ask_for_one() -> None:
        request_reset(account_ref=str(make_account().pk), channels=["email"])

    return ask_for_one


def look() -> DeliveryHealth:
    upkeep.sweep()
    upkeep.roll_up()
    return delivery_health(WINDOWS["5m"])


def email() -> ChannelHealth:
    return look().channels[0]


def test_resets_that_arrive_at_once_are_all_well(ask: Callable[[], None]) -> None:
    for _ in range(12):
        ask()
    deliver_now()
    found = look()
    numbers = found.channels[0].numbers
    assert (found.verdict, found.channels[0].reasons) == (Verdict.OK, ())
    assert (numbers.admitted, numbers.finished, numbers.accepted) == (12, 12, 12)
    assert (numbers.pending, numbers.oldest_due_seconds) == (0, None)
    assert numbers.queue_delay.p99_seconds is not None
    assert (numbers.life_left_at_acceptance.median or 0) > 0.9
    assert numbers.life_left_at_acceptance.quarter_or_less == 0
    assert found.counted_until is not None


def test_each_outcome_is_counted_once(ask: Callable[[], None]) -> None:
    ask()
    deliver_now(outcomes={"email": [BUSY]})
    answer(record(take()), CUT)
    age(1)
    answer(record(take()))
    found = email().numbers.attempts
    assert {kind: number for kind, number in found.items() if number} == {
        OutcomeKind.TRANSIENT: 1,
        OutcomeKind.AMBIGUOUS: 1,
        OutcomeKind.ACCEPTED: 1,
    }


def test_counting_again_adds_nothing(ask: Callable[[], None]) -> None:
    ask()
    deliver_now()
    assert email().numbers == email().numbers
    assert email().numbers.accepted == 1


def test_leases_of_dead_workers_are_counted_when_they_are_taken_back(ask: Callable[[], None]) -> None:
    for _ in range(3):
        ask()
    take()
    age(40)
    found = email()
    assert (found.numbers.lease_recoveries, found.reasons) == (3, (HealthReason.LEASES_LOST,))


def test_resets_that_nobody_sent_in_time_are_counted_as_given_up(ask: Callable[[], None]) -> None:
    for _ in range(10):
        ask()
    age(3600)
    upkeep.expire_overdue()
    found = email()
    assert (found.numbers.expired_usefully, found.numbers.finished) == (10, 10)
    assert found.reasons == (HealthReason.EXPIRING_MANY,)


def test_life_that_was_nearly_over_at_acceptance_is_told(ask: Callable[[], None]) -> None:
    for _ in range(3):
        ask()
    age(500)
    answer(record(take()))
    found = email()
    assert found.numbers.life_left_at_acceptance.quarter_or_less == 3
    assert HealthReason.ACCEPTED_LATE in found.reasons
