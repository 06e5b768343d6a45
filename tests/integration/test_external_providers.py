from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
import redis
from django.db import connection

from notifications.channels import Channel
from notifications.outcome import Outcome
from notifications.testing import ScriptedTransport
from resetdelivery.claims import Hold
from resetdelivery.clock import database_now
from resetdelivery.delivery import deliver
from resetdelivery.domain.states import DeliveryState
from resetdelivery.external import NotSendable, hand_out
from resetdelivery.models import Attempt, ChannelControl, Delivery, ProviderCircuit
from resetdelivery.throttles import conversion
from tests.conftest import the_delivery
from tests.integration.conftest import Settings
from tests.integration.external_steps import (
    MAILER,
    OTHER,
    claim,
    held,
    marked,
    report,
    reset_for,
)
from tests.steps import ACCEPTED, BUSY, CUT, LOCKED_OUT, pause, seconds, store, take

pytestmark = pytest.mark.django_db

S = DeliveryState


def test_a_configuration_error_outside_pauses_nothing_and_uses_up_nothing(account: Any) -> None:
    reset_for(account)
    report(marked(), LOCKED_OUT)
    row, attempt = the_delivery(), Attempt.objects.get()
    assert (row.state, row.attempts, row.claims) == (S.PENDING, 0, 0)
    assert attempt.finished_at is not None
    assert row.due_at == attempt.finished_at + seconds(2)
    assert not ChannelControl.objects.get().paused


def test_an_accepted_message_outside_does_not_open_a_channel_that_we_are_probing(account: Any) -> None:
    reset_for(account)
    hold = marked()
    pause(paused=False, probing=True, pause_reason="misconfigured", probe_at=database_now(connection))
    report(hold)
    assert ChannelControl.objects.get().probing


@pytest.mark.parametrize("take_one", [held, marked])
@pytest.mark.parametrize(
    "channel_state", [{"paused": True}, {"paused": False, "probing": True}], ids=["probe due", "probe died"]
)
def test_what_is_held_outside_keeps_no_probe_of_ours_waiting(
    account: Any, take_one: Callable[[], Hold], channel_state: dict[str, Any]
) -> None:
    reset_for(account)
    take_one()
    store(2, overdue=5)
    pause(pause_reason="misconfigured", probe_at=database_now(connection) - seconds(1), **channel_state)
    (probe,) = take()
    assert (probe.probe, take()) == (True, [])


def test_a_worker_of_ours_on_a_host_called_api_is_none_outside() -> None:
    store(2, overdue=5)
    pause(pause_reason="misconfigured", probe_at=database_now(connection) - seconds(1))
    assert len(take(owner="api:4711")) == 1
    assert take(owner="api:4712") == []


@pytest.mark.parametrize("outcome", [BUSY, LOCKED_OUT, ACCEPTED])
def test_outcomes_outside_move_no_circuit_of_ours(account: Any, outcome: Outcome) -> None:
    reset_for(account)
    report(marked(), outcome)
    assert not ProviderCircuit.objects.exists()


def may_have(row: Delivery, transport: str, *, token: int = 1) -> None:
    """An attempt on record after which ``transport`` may have the message."""
    now = database_now(connection)
    Attempt.objects.create(
        delivery=row,
        number=1,
        token=token,
        started_at=now,
        finished_at=now,
        outcome="ambiguous",
        queue_delay_seconds=0,
        remaining_seconds=60,
        transport=transport,
        worker="w",
    )


def ambiguous_at(transport: str, channel: Channel = Channel.SMS) -> Delivery:
    """A due delivery that ``transport`` may have, and another that nobody has."""
    bound, _ = store(2, channel, overdue=5)
    may_have(bound, transport)
    return bound


@pytest.mark.parametrize(
    ("transport", "channel", "is_taken"),
    [
        ("twilio", Channel.SMS, False),
        (OTHER, Channel.SMS, False),
        (MAILER, Channel.SMS, True),
        ("smtp", Channel.EMAIL, True),
        (OTHER, Channel.EMAIL, True),
    ],
)
def test_a_text_message_that_another_provider_may_have_is_not_claimed_from_outside(
    transport: str, channel: Channel, is_taken: bool
) -> None:
    bound = ambiguous_at(transport, channel)
    taken = {work.reference for work in claim(channel.value)}
    assert (bound.reference in taken, len(taken)) == (is_taken, 1 + is_taken)


@pytest.mark.parametrize("named", [True, False])
def test_a_text_message_that_a_client_may_have_waits_for_that_client(
    account: Any, sms: ScriptedTransport, named: bool
) -> None:
    bound = ambiguous_at(MAILER)
    deliver(Channel.SMS, ids=[bound.pk] if named else [], fill_at_once=True)
    bound.refresh_from_db()
    assert (bound.state, bound.claims) == (S.PENDING, 0)
    assert [work.reference for work in claim("sms")] == [bound.reference]


def test_a_text_message_that_went_elsewhere_after_its_claim_is_not_handed_out(account: Any) -> None:
    reset_for(account, "sms")
    hold = held("sms")
    row = the_delivery(Channel.SMS)
    may_have(row, "twilio", token=0)
    with pytest.raises(NotSendable) as caught:
        hand_out(hold)
    row.refresh_from_db()
    assert caught.value.state == row.state == S.PENDING
    assert (row.claims, Attempt.objects.count()) == (0, 1)


def test_a_text_message_goes_out_at_most_once_more_after_an_ambiguous_attempt_outside(account: Any) -> None:
    reset_for(account, "sms")
    for state in (S.PENDING, S.FAILED):
        assert report(marked("sms"), CUT) == state
    row = the_delivery(Channel.SMS)
    assert (row.reason, row.outcome) == ("ambiguous_resends_used_up", "ambiguous")


def test_a_text_message_that_was_handed_out_counts_for_the_alarm_of_its_range(
    limits: redis.Redis[bytes], change: Settings, account: Any
) -> None:
    change(CONVERSION_MIN_SENT=1)
    reset_for(account, "sms")
    marked("sms")
    later = time.time() + 2 * conversion.BUCKET_SECONDS
    assert [(one.region, one.sent) for one in conversion.check_conversion(now=later)] == [("DE", 1)]


def test_an_email_that_was_handed_out_counts_for_no_range(
    limits: redis.Redis[bytes], change: Settings, account: Any
) -> None:
    change(CONVERSION_MIN_SENT=1)
    reset_for(account)
    marked()
    assert conversion.check_conversion(now=time.time() + 2 * conversion.BUCKET_SECONDS) == []
