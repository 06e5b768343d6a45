"""Whom the beat tells of which rows, and when it keeps quiet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from notifications.channels import Channel
from resetdelivery import broker
from resetdelivery.clock import database_now
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import ChannelControl, Delivery, ProviderCircuit
from resetdelivery.recovery import Swept, sweep, wake_due
from tests.brokers import Queue
from tests.conftest import age
from tests.steps import BUSY, CUT, LOCKED_OUT, answer, pause, record, seconds, states, store, take

pytestmark = pytest.mark.django_db

Settings = Callable[..., None]


def retrying(number: int = 1, **fields: Any) -> list[Delivery]:
    """Rows that come back after a try, as settle leaves them."""
    return store(number, outcome="transient", hinted_at=None, **{"overdue": 1, **fields})


def hinted(ago: float, *, due_ago: float) -> Delivery:
    now = database_now(connection)
    (row,) = store(overdue=due_ago, hinted_at=now - seconds(ago))
    return row


def test_a_due_retry_is_hinted_at_once(queue: Queue) -> None:
    (row,) = retrying()
    assert (wake_due(), wake_due()) == (1, 0)
    assert queue.hints == [("email", [row.pk])]


def test_each_channel_gets_hints_of_its_own(queue: Queue) -> None:
    (mail,), (text,) = retrying(), retrying(channel=Channel.SMS)
    assert wake_due() == 2
    assert sorted(queue.hints) == [("email", [mail.pk]), ("sms", [text.pk])]


def test_a_retry_that_is_not_due_yet_is_not_woken(queue: Queue) -> None:
    retrying(overdue=-5)
    assert wake_due() == 0


def test_a_first_try_is_none_of_the_wake_ups_business(queue: Queue) -> None:
    store(overdue=5)
    assert wake_due() == 0


def test_many_retries_are_woken_with_few_messages(queue: Queue) -> None:
    retrying(120)
    assert wake_due() == 120
    assert [len(ids) for _, ids in queue.hints] == [50, 50, 20]


def test_a_run_is_bounded(queue: Queue, change: Settings) -> None:
    change(DISPATCH="broker", SWEEP_LIMIT=3)
    retrying(5)
    assert (wake_due(), wake_due(), wake_due()) == (3, 2, 0)


def test_a_retry_whose_hint_was_refused_is_woken_again(queue: Queue) -> None:
    (row,) = retrying()
    queue.takes_messages = False
    assert wake_due() == 0
    row.refresh_from_db()
    assert row.hinted_at is None
    queue.takes_messages = True
    assert wake_due() == 1


@pytest.mark.parametrize("boundary", ["database", "inline"])
def test_without_a_broker_nothing_is_hinted(queue: Queue, change: Settings, boundary: str) -> None:
    change(DISPATCH=boundary)
    retrying()
    assert wake_due() == 0
    assert sweep() == Swept()
    assert queue.hints == []


def test_nothing_is_hinted_in_a_paused_channel(queue: Queue) -> None:
    retrying()
    pause()
    assert wake_due() == 0
    assert sweep().hinted == 0


def test_a_channel_whose_probe_is_due_is_hinted_again(queue: Queue) -> None:
    store(overdue=5)
    answer(record(take()), LOCKED_OUT)
    assert wake_due() == 0
    age(1)
    ChannelControl.objects.update(probe_at=database_now(connection) - seconds(1))
    assert wake_due() == 1


# Sweeping hints that came to nothing.


@pytest.mark.parametrize(
    ("ago", "due_ago", "again"),
    [
        (10, 10, False),  # the grace is 15 s
        (16, 16, True),  # hinted at when it came due, and nobody came
        (16, 31, True),  # hinted at after 15 s, for another 15 s
        (14, 29, False),
        (16, 33, False),  # hinted at after 17 s: the next wait is 17 s
        (18, 35, True),
        (59, 120, False),  # after 61 s
        (61, 121, True),
    ],
)
def test_each_wait_for_a_hint_is_as_long_as_all_before(
    queue: Queue, ago: float, due_ago: float, again: bool
) -> None:
    row = hinted(ago, due_ago=due_ago)
    assert sweep().hinted == int(again)
    assert queue.ids == ([row.pk] if again else [])


def test_a_due_row_of_which_nobody_was_told_is_hinted_at_once(queue: Queue) -> None:
    (row,) = store(overdue=0.01)
    assert sweep().hinted == 1
    assert queue.ids == [row.pk]


@pytest.mark.parametrize(("waiting", "hints"), [(0, 3), (3, 3), (4, 0)])
def test_the_sweep_is_silent_while_more_messages_than_due_rows_stand_in_the_queue(
    queue: Queue, waiting: int, hints: int
) -> None:
    store(3, overdue=5)
    queue.length = waiting
    assert sweep().hinted == hints


def test_with_nothing_due_the_broker_is_not_asked(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker, "queue_length", refuse_to_be_asked)
    store(overdue=-5)
    assert sweep() == Swept()


def refuse_to_be_asked(queue: str) -> int:
    raise AssertionError


def test_without_its_broker_the_sweep_still_puts_back(queue: Queue) -> None:
    queue.is_up = False
    (row,) = store(overdue=5)
    take(lease=0)
    age(1)
    assert sweep() == Swept(put_back=1)
    assert states([row]) == [DeliveryState.PENDING]


@pytest.mark.parametrize("outcome", [BUSY, CUT])
def test_a_settled_retry_is_woken_and_not_swept_twice(queue: Queue, outcome: Any) -> None:
    store(overdue=5)
    answer(record(take()), outcome)
    age(1)
    assert (wake_due(), sweep().hinted) == (1, 0)


@pytest.mark.parametrize(
    ("open_for", "due", "hints"),
    [(-1, True, [("email", [])]), (60, True, []), (-1, False, [])],
    ids=["pause over", "still resting", "nothing waits"],
)
def test_when_a_providers_pause_is_over_somebody_is_woken_to_look(
    queue: Queue, open_for: float, due: bool, hints: list[Any]
) -> None:
    now = database_now(connection)
    store(overdue=5 if due else -60, hinted_at=now)
    ProviderCircuit.objects.create(
        channel="email", provider="main", outages=3, open_until=now + seconds(open_for), opened_at=now
    )
    assert wake_due() == 0
    assert queue.hints == hints


def test_a_paused_channel_is_not_woken_to_look_for_a_provider(queue: Queue) -> None:
    now = database_now(connection)
    store(overdue=5, hinted_at=now)
    ProviderCircuit.objects.create(channel="email", provider="main", outages=3, open_until=now, opened_at=now)
    pause()
    wake_due()
    assert queue.hints == []
