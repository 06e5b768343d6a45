"""What text messages may cost: counted per range of numbers and per segment, before each is marked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import redis
from django.db import connection

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery.claims import Ready
from resetdelivery.clock import database_now
from resetdelivery.delivery import deliver, pass_gate
from resetdelivery.domain.states import DeliveryState
from resetdelivery.external import NotSendable, hand_out
from resetdelivery.models import Attempt, Delivery, ProviderCircuit
from resetdelivery.poller import Poller
from resetdelivery.services import request_reset
from resetdelivery.throttles.sms import within_limits
from tests.brokers import everything
from tests.conftest import UseTransport, age
from tests.integration.conftest import Settings
from tests.integration.external_steps import held
from tests.later_words import ask_in_turn
from tests.steps import BUSY, seconds, take

pytestmark = pytest.mark.django_db

S = DeliveryState
SMS = Channel.SMS
MakeAccount = Callable[..., Any]


def ask(make_account: MakeAccount, *numbers: str) -> None:
    for number in numbers:
        # A key as short as in a shop: whatever ran before, the link fits into one segment.
        account = make_account(phone=number, pk=int(number[-4:]))
        request_reset(account_ref=str(account.pk), channels=["sms"])


def ready(make_account: MakeAccount, *numbers: str) -> list[Ready]:
    """Claimed, and past the gate."""
    ask(make_account, *numbers)
    return list(pass_gate(take(SMS), using="default"))


def outcomes() -> list[tuple[str, str]]:
    return list(Delivery.objects.order_by("pk").values_list("state", "reason"))


def tried_twice(make_account: MakeAccount, use_transport: UseTransport) -> int:
    """One delivery, due again after its provider was busy; how often a provider was asked."""
    sms = use_transport(SMS, ScriptedTransport(outcomes=[BUSY]))
    ask(make_account, "+4915112345001")
    deliver(SMS)
    age(60)
    deliver(SMS, fill_at_once=True)
    return len(sms.messages)


# Ranges of numbers.


def test_only_so_many_messages_an_hour_go_to_one_range(
    limits: redis.Redis[bytes], change: Settings, make_account: MakeAccount, sms: ScriptedTransport
) -> None:
    change(PREFIX_PER_HOUR=2)
    ask(make_account, "+4915112345001", "+4915112399002", "+4915112300003")
    deliver(SMS)
    assert len(sms.messages) == 2
    assert sorted(outcomes()) == [(S.ACCEPTED, "ok"), (S.ACCEPTED, "ok"), (S.FAILED, "sms_prefix_limit")]


def test_a_range_over_its_limit_holds_up_no_other(
    limits: redis.Redis[bytes], change: Settings, make_account: MakeAccount, sms: ScriptedTransport
) -> None:
    change(PREFIX_PER_HOUR=1)
    ask(make_account, "+4915112345001", "+4915112345002", "+4915223456001")
    deliver(SMS)
    assert sorted(one.to[:8] for one in sms.messages) == ["+4915112", "+4915223"]


def test_a_retry_is_not_counted_for_its_range_again(
    limits: redis.Redis[bytes], change: Settings, make_account: MakeAccount, use_transport: UseTransport
) -> None:
    change(PREFIX_PER_HOUR=1)
    assert tried_twice(make_account, use_transport) == 2
    assert outcomes() == [(S.ACCEPTED, "ok")]


def test_a_delivery_that_could_not_be_marked_is_not_counted_again(
    limits: redis.Redis[bytes], change: Settings, make_account: MakeAccount
) -> None:
    change(PREFIX_PER_HOUR=1)
    wave = ready(make_account, "+4915112345001")
    assert [len(within_limits(wave).ready) for _ in range(3)] == [1, 1, 1]


def test_what_a_delivery_was_counted_by_is_forgotten_a_minute_after_its_end(
    limits: redis.Redis[bytes], make_account: MakeAccount
) -> None:
    wave = ready(make_account, "+4915112345001")
    within_limits(wave)
    (name,) = limits.keys("resetdelivery:limits:sms-delivery:*")
    life = (wave[0].claimed.expires_at - wave[0].claimed.claimed_at).total_seconds()
    assert 0 < limits.pttl(name) <= (life + 60) * 1000


# Segments.


def test_a_spent_budget_ends_text_messages(
    limits: redis.Redis[bytes], change: Settings, make_account: MakeAccount, sms: ScriptedTransport
) -> None:
    change(SMS_SEGMENTS_PER_HOUR=2)
    ask(make_account, "+4915112345001", "+4915223456001", "+447911123456")
    deliver(SMS)
    assert len(sms.messages) == 2
    assert sorted(outcomes())[-1] == (S.FAILED, "sms_budget_spent")


@pytest.mark.parametrize("budget", ["SMS_SEGMENTS_PER_HOUR", "SMS_SEGMENTS_PER_DAY"])
def test_a_budget_of_nothing_lets_no_message_pass(
    limits: redis.Redis[bytes],
    change: Settings,
    make_account: MakeAccount,
    sms: ScriptedTransport,
    budget: str,
) -> None:
    change(**{budget: 0})
    ask(make_account, "+4915112345001")
    deliver(SMS)
    assert sms.messages == []
    assert outcomes() == [(S.FAILED, "sms_budget_spent")]
    assert not Attempt.objects.exists()


def test_every_attempt_uses_up_its_segments(
    limits: redis.Redis[bytes], change: Settings, make_account: MakeAccount, use_transport: UseTransport
) -> None:
    change(SMS_SEGMENTS_PER_HOUR=1)
    assert tried_twice(make_account, use_transport) == 1
    assert outcomes() == [(S.FAILED, "sms_budget_spent")]


def test_what_the_range_refuses_costs_no_segments(
    limits: redis.Redis[bytes], change: Settings, make_account: MakeAccount, sms: ScriptedTransport
) -> None:
    change(PREFIX_PER_HOUR=1, SMS_SEGMENTS_PER_HOUR=2)
    ask(make_account, "+4915112345001", "+4915112345002", "+447911123456")
    deliver(SMS)
    assert len(sms.messages) == 2


def test_what_the_budget_refuses_does_not_count_for_its_range(
    limits: redis.Redis[bytes], change: Settings, make_account: MakeAccount
) -> None:
    wave = ready(make_account, "+4915112345001")
    change(SMS_SEGMENTS_PER_HOUR=0)
    assert within_limits(wave).ready == []
    assert not limits.keys("resetdelivery:limits:sms-range:*")


# All of it.


def test_a_refused_message_lets_the_next_channel_take_over(
    limits: redis.Redis[bytes],
    change: Settings,
    account: Any,
    email: ScriptedTransport,
    sms: ScriptedTransport,
) -> None:
    change(SMS_SEGMENTS_PER_DAY=0)
    ask_in_turn(account, "sms", "email")
    for _ in range(2):
        Poller().run_once()
    assert (len(sms.messages), len(email.messages)) == (0, 1)


def test_a_worker_outside_is_bound_by_the_same_limits(
    limits: redis.Redis[bytes], change: Settings, make_account: MakeAccount
) -> None:
    change(SMS_SEGMENTS_PER_HOUR=0)
    ask(make_account, "+4915112345001")
    with pytest.raises(NotSendable):
        hand_out(held("sms"))
    assert outcomes() == [(S.FAILED, "sms_budget_spent")]


def test_a_probe_that_is_refused_is_the_next_deliverys(
    limits: redis.Redis[bytes], change: Settings, make_account: MakeAccount, sms: ScriptedTransport
) -> None:
    past = database_now(connection) - seconds(1)
    ProviderCircuit.objects.create(channel=SMS, provider=sms.name, outages=3, opened_at=past, open_until=past)
    change(SMS_SEGMENTS_PER_HOUR=0)
    ask(make_account, "+4915112345001")
    deliver(SMS)
    assert outcomes() == [(S.FAILED, "sms_budget_spent")]
    change(SMS_SEGMENTS_PER_HOUR=None)
    ask(make_account, "+4915112345002")
    deliver(SMS)
    assert len(sms.messages) == 1


def test_email_asks_no_limit(
    limits: redis.Redis[bytes], change: Settings, account: Any, email: ScriptedTransport
) -> None:
    change(SMS_SEGMENTS_PER_HOUR=0)
    request_reset(account_ref=str(account.pk), channels=["email"])
    deliver(Channel.EMAIL)
    assert len(email.messages) == 1
    assert limits.keys("*") == []


def test_a_wave_asks_once_and_notes_once(
    limits: redis.Redis[bytes], make_account: MakeAccount, sms: ScriptedTransport
) -> None:
    ask(make_account, "+4915112345001")
    deliver(SMS)  # Redis knows the scripts from here on
    limits.config_resetstat()
    ask(make_account, "+4915112345002", "+4915223456001", "+447911123456")
    deliver(SMS)
    assert len(sms.messages) == 4
    assert limits.info("commandstats")["cmdstat_evalsha"]["calls"] == 2


def test_no_number_is_in_redis(
    limits: redis.Redis[bytes], make_account: MakeAccount, sms: ScriptedTransport
) -> None:
    ask(make_account, "+4915112345001")
    deliver(SMS)
    assert b"sms-range" in everything(limits)
    assert b"15112345" not in everything(limits)


def test_without_a_redis_for_limits_text_messages_go_out(
    change: Settings, make_account: MakeAccount, sms: ScriptedTransport
) -> None:
    change(LIMITS_REDIS_URL="", SMS_SEGMENTS_PER_HOUR=0)
    ask(make_account, "+4915112345001")
    deliver(SMS)
    assert len(sms.messages) == 1


@pytest.mark.parametrize(
    "number",
    [
        "+18765551234",  # Jamaica, behind the calling code of the United States
        "+447012345678",  # a personal number
        "+449098790000",  # premium
        "+448451234567",  # shared cost
        "+445612345678",  # VoIP
        "+8821234567890",  # of no country
        "+979123456789",
        "+80012345678",
    ],
)
def test_numbers_that_cost_more_are_refused_before_any_limit_is_asked(
    limits: redis.Redis[bytes],
    change: Settings,
    make_account: MakeAccount,
    sms: ScriptedTransport,
    number: str,
) -> None:
    change(CHANNELS={"sms": {"TRANSPORT": "tests.transports.sms", "REGIONS": ["US", "GB"]}})
    ask(make_account, number)
    deliver(SMS)
    assert sms.messages == []
    assert outcomes() == [(S.FAILED, "invalid_destination")]
    assert limits.keys("*") == []
