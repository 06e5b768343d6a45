"""A channel that may not send: paused by a person, or by itself after a configuration error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery.clock import database_now
from resetdelivery.delivery import deliver
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import ChannelControl, Delivery
from resetdelivery.services import request_reset
from tests.conftest import UseTransport, age
from tests.steps import ACCEPTED, BUSY, LOCKED_OUT, answer, pause, record, seconds, states, store, take

pytestmark = pytest.mark.django_db

S = DeliveryState


def control() -> ChannelControl:
    return ChannelControl.objects.get(channel="email")


def due_for_a_probe() -> None:
    pause(pause_reason="misconfigured", probe_at=database_now(connection) - seconds(1))


def test_a_configuration_error_pauses_the_channel_until_its_probe() -> None:
    store(overdue=5)
    answer(record(take()), LOCKED_OUT)
    found = control()
    assert (found.paused, found.pause_reason, found.probing) == (True, "misconfigured", False)
    assert found.probe_at is not None
    assert found.probe_at - database_now(connection) == pytest.approx(seconds(30), abs=seconds(2))
    assert take() == []


def test_it_does_not_pause_the_other_channel() -> None:
    store(overdue=5)
    store(channel=Channel.SMS, overdue=5)
    answer(record(take()), LOCKED_OUT)
    assert len(take(Channel.SMS)) == 1


def test_a_probe_lets_exactly_one_row_through() -> None:
    store(3, overdue=5)
    due_for_a_probe()
    (probe,) = take()
    assert probe.probe
    assert take() == []
    assert control().probing


def test_a_probe_that_passes_opens_the_channel() -> None:
    store(3, overdue=5)
    due_for_a_probe()
    answer(record(take()), ACCEPTED)
    found = control()
    assert (found.paused, found.probing, found.pause_reason, found.probe_at) == (False, False, "", None)
    assert len(take()) == 2


def test_any_answer_but_a_configuration_error_opens_it() -> None:
    store(overdue=5)
    due_for_a_probe()
    answer(record(take()), BUSY)
    assert not control().paused


def test_a_probe_that_fails_pauses_the_channel_again() -> None:
    store(3, overdue=5)
    due_for_a_probe()
    answer(record(take()), LOCKED_OUT)
    found = control()
    assert (found.paused, found.probing) == (True, False)
    assert take() == []


def test_the_next_row_probes_when_the_first_was_not_sent_after_all() -> None:
    rows = store(2, overdue=5)
    due_for_a_probe()
    (first,) = take()
    Delivery.objects.filter(pk=first.id).update(
        state="cancelled", lease_owner="", lease_expires_at=None, finished_at=database_now(connection)
    )
    (second,) = take()
    assert {first.id, second.id} == {row.pk for row in rows}


def test_a_shadow_is_no_probe() -> None:
    shadows = store(20, overdue=6, authority="shadow")
    (ours,) = store(overdue=5)
    due_for_a_probe()
    (probe,) = take(ids=[row.pk for row in shadows])
    assert (probe.id, probe.probe) == (ours.pk, True)
    assert take() == []


@pytest.mark.parametrize("authority", ["shadow", "legacy"])
def test_where_nothing_asks_a_provider_the_channel_stays_paused(
    email: ScriptedTransport, authority: str
) -> None:
    rows = store(3, overdue=5, authority=authority)
    due_for_a_probe()
    assert deliver(Channel.EMAIL, fill_at_once=True) == 0
    assert (control().paused, control().probing) == (True, False)
    assert states(rows) == [S.PENDING] * 3
    store(overdue=5)
    assert [one.probe for one in take()] == [True]


def test_a_row_that_can_no_longer_help_begins_no_probe() -> None:
    store(overdue=5, life=20)
    due_for_a_probe()
    assert take(floor=30) == []
    assert (control().paused, control().probing) == (True, False)


def test_shadows_follow_a_probe_that_passes() -> None:
    store(overdue=5)
    store(3, overdue=5, authority="shadow")
    due_for_a_probe()
    answer(record(take()), ACCEPTED)
    assert len(take()) == 3


def test_a_pause_by_a_person_outlasts_a_configuration_error() -> None:
    store(overdue=5)
    marked = record(take())
    pause()
    answer(marked, LOCKED_OUT)
    found = control()
    assert (found.paused, found.pause_reason, found.probe_at) == (True, "operator", None)


def test_a_pause_by_a_person_is_not_probed() -> None:
    store(overdue=5)
    pause()
    age(3600)
    assert take() == []


def test_what_was_on_its_way_before_a_pause_does_not_end_it() -> None:
    store(overdue=5)
    marked = record(take())
    pause()
    answer(marked, ACCEPTED)
    assert control().paused


def test_the_rows_that_waited_follow_the_probe_at_once_whatever_was_hinted(
    make_account: Callable[..., Any], db: None, email: ScriptedTransport
) -> None:
    for _ in range(5):
        request_reset(account_ref=str(make_account().pk), channels=["email"])
    age(300)
    # All were hinted at when the probe came due: another hint would follow in five minutes.
    Delivery.objects.update(hinted_at=database_now(connection))
    due_for_a_probe()
    assert deliver(Channel.EMAIL) == 5
    assert len(email.messages) == 5


def test_a_failed_probe_is_not_followed_by_another(
    make_account: Callable[..., Any], use_transport: UseTransport, db: None
) -> None:
    email = use_transport(Channel.EMAIL, ScriptedTransport(outcomes=[LOCKED_OUT] * 9))
    for _ in range(3):
        request_reset(account_ref=str(make_account().pk), channels=["email"])
    due_for_a_probe()
    assert deliver(Channel.EMAIL, fill_at_once=True) == 1
    assert len(email.messages) == 1
    assert set(states(list(Delivery.objects.all()))) == {S.PENDING}
