"""The limits' Redis dead or stalled: callers and email pass, text messages wait."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from django.db import connection
from django.test import Client, RequestFactory

from examples.demo.ports import LOOPBACK
from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery.clock import database_now
from resetdelivery.delivery import deliver
from resetdelivery.domain.states import DeliveryState
from resetdelivery.external import NotSendable, hand_out
from resetdelivery.models import Attempt, Delivery
from resetdelivery.recovery import expire_overdue
from resetdelivery.services import request_reset
from resetdelivery.throttles import admit_api_call
from resetdelivery.throttles.callers import wait_seconds
from resetdelivery.throttles.connection import LimitsServer, limits_server
from resetdelivery.throttles.conversion import check_conversion, note_sent, note_used
from tests.brokers import Stalled
from tests.conftest import age, the_delivery
from tests.integration.conftest import Settings
from tests.integration.external_steps import held
from tests.steps import seconds

S = DeliveryState
SMS = Channel.SMS
NUMBER = "+4915112345001"

Away = Callable[[], None]


@pytest.fixture
def stalled() -> Iterator[Stalled]:
    server = Stalled()
    yield server
    server.close()


def refusing_url() -> str:
    """Of a port that nobody listens on."""
    with socket.create_server((LOOPBACK, 0)) as listener:
        return f"redis://:marked-password@{LOOPBACK}:{listener.getsockname()[1]}/0"


@pytest.fixture(params=["dead", "stalled"])
def away(request: pytest.FixtureRequest, change: Settings, stalled: Stalled) -> str:
    """The limits' Redis does not answer; its address."""
    url = refusing_url() if request.param == "dead" else stalled.url
    change(LIMITS_REDIS_URL=url, LIMITS_TIMEOUT=seconds(0.1), LIMITS_PAUSE=seconds(60))
    return url


def test_callers_pass(away: str, rf: RequestFactory) -> None:
    assert [wait_seconds(rf.post("/"), purpose="forgot") for _ in range(20)] == [0.0] * 20


def test_clients_of_the_api_pass(away: str, change: Settings) -> None:
    change(API_CALLS_PER_MINUTE=1)
    assert [admit_api_call("orders") for _ in range(3)] == [0.0] * 3


def test_counting_conversions_raises_nothing(away: str) -> None:
    note_sent([NUMBER])
    note_used(NUMBER)
    assert check_conversion() == []


@pytest.mark.django_db
def test_the_shops_page_goes_on(away: str, change: Settings, client: Client) -> None:
    change(CALLER_PER_10_MINUTES=1)
    for who in ("anna", "bert", "carl"):
        answer = client.post("/accounts/forgot/", {"email": who, "request_key": who}, secure=True)
        assert answer.status_code == 302


def test_a_stalled_redis_costs_one_wait_and_then_nothing(
    stalled: Stalled, change: Settings, rf: RequestFactory
) -> None:
    change(LIMITS_REDIS_URL=stalled.url, LIMITS_TIMEOUT=seconds(0.1), LIMITS_PAUSE=seconds(60))
    for _ in range(20):
        wait_seconds(rf.post("/"), purpose="forgot")
    assert stalled.connections == 1


def test_options_in_the_address_do_not_take_the_bounds_away() -> None:
    endless = "redis://limits.example/0?socket_timeout=3600&socket_connect_timeout=3600&retry_on_timeout=1"
    made: Any = LimitsServer(endless, 0.1, 5.0).client.connection_pool.make_connection()
    assert (made.socket_timeout, made.socket_connect_timeout) == (0.1, 0.1)
    assert made.retry._retries == 0


def test_its_address_is_not_logged(away: str, rf: RequestFactory, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    wait_seconds(rf.post("/"), purpose="forgot")
    assert "limits_unavailable" in caplog.text
    assert "marked-password" not in caplog.text
    assert away.rpartition("@")[2].rpartition(":")[2].partition("/")[0] not in caplog.text


# Text messages.


@pytest.fixture
def asked(db: None, make_account: Callable[..., Any]) -> None:
    """A reset by email and SMS."""
    account = make_account(phone=NUMBER)
    request_reset(account_ref=str(account.pk), channels=["email", "sms"])


def test_no_text_message_is_sent_and_its_row_waits(away: str, asked: None, sms: ScriptedTransport) -> None:
    deliver(SMS)
    row = the_delivery(SMS)
    assert sms.messages == []
    assert row.state == S.PENDING
    assert row.due_at > database_now(connection)
    assert (row.claims, row.attempts) == (0, 0)
    assert not Attempt.objects.exists()


def test_a_worker_outside_gets_no_text_message(away: str, asked: None) -> None:
    with pytest.raises(NotSendable):
        hand_out(held("sms"))
    row = the_delivery(SMS)
    assert (row.state, row.claims) == (S.PENDING, 0)
    assert row.due_at > database_now(connection)
    assert not Attempt.objects.exists()


def test_email_goes_out(away: str, asked: None, email: ScriptedTransport) -> None:
    deliver(Channel.EMAIL)
    assert len(email.messages) == 1


def test_waiting_uses_up_no_claims(away: str, asked: None, change: Settings, sms: ScriptedTransport) -> None:
    change(MAX_CLAIMS=2, LIMITS_PAUSE=seconds(0))
    for _ in range(4):
        deliver(SMS, fill_at_once=True)
    assert (the_delivery(SMS).state, the_delivery(SMS).claims) == (S.PENDING, 0)
    assert sms.messages == []


def test_a_row_is_due_again_no_later_than_it_expires(
    away: str, asked: None, change: Settings, sms: ScriptedTransport
) -> None:
    change(LIMITS_PAUSE=seconds(3600))
    deliver(SMS)
    assert the_delivery(SMS).due_at == the_delivery(SMS).expires_at


def test_what_waited_too_long_expires_as_everything_does(
    away: str, asked: None, sms: ScriptedTransport
) -> None:
    deliver(SMS)
    age(3600)
    expire_overdue()
    assert the_delivery(SMS).state == S.EXPIRED


def test_when_redis_is_back_what_waited_is_sent(
    asked: None, limits: redis.Redis[bytes], change: Settings, settings: Any, sms: ScriptedTransport
) -> None:
    back = settings.RESETDELIVERY["LIMITS_REDIS_URL"]
    change(LIMITS_REDIS_URL=refusing_url())
    deliver(SMS)
    assert sms.messages == []
    change(LIMITS_REDIS_URL=back)
    age(60)
    deliver(SMS, fill_at_once=True)
    assert len(sms.messages) == 1
    assert Delivery.objects.get(channel=SMS).state == S.ACCEPTED


def test_after_a_failure_one_call_asks_again_when_the_pause_is_over(
    limits: redis.Redis[bytes], rf: RequestFactory, change: Settings
) -> None:
    change(CALLER_PER_10_MINUTES=1, LIMITS_PAUSE=seconds(0))
    limits_server().breaker.trip()
    wait_seconds(rf.post("/"), purpose="forgot")
    assert wait_seconds(rf.post("/"), purpose="forgot") > 0
