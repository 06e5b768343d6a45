"""Asking again after a worker came by tells nobody apart."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from examples.demo.ports import LOOPBACK
from notifications.channels import Channel
from notifications.deadline import Deadline
from notifications.message import Message
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.testing import ScriptedTransport
from resetdelivery.delivery import deliver
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import Delivery
from resetdelivery.services import request_reset
from resetdelivery.throttles.connection import limits_server
from tests.conftest import UseTransport
from tests.integration.conftest import See, Settings
from tests.requesters import NOBODY, MakeAccount, Request, of
from tests.steps import LOCKED_OUT, seconds

pytestmark = pytest.mark.django_db

DOWN = Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.CONNECT_FAILED)
Step = Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """Makes a worker come by in one of several states of the world, and calls ``meanwhile`` then."""

    change: Settings
    use_transport: UseTransport
    meanwhile: Step

    def one_message_at_a_time(self) -> None:
        options = {"WAVE": 1, "OUTAGE_THRESHOLD": 1}
        names = ("email", "sms")
        self.change(CHANNELS={n: {"TRANSPORT": f"tests.transports.{n}", **options} for n in names})


class Slow(ScriptedTransport):
    """While the first message is on its way something else happens."""

    def __init__(self, meanwhile: Step) -> None:
        super().__init__()
        self._meanwhile: list[Step] = [meanwhile]

    def submit(self, message: Message, deadline: Deadline) -> Outcome:
        while self._meanwhile:
            self._meanwhile.pop()()
        return super().submit(message, deadline)


def a_slow_provider(workers: Workers) -> None:
    workers.one_message_at_a_time()
    workers.use_transport(Channel.EMAIL, Slow(workers.meanwhile))
    deliver(Channel.EMAIL, fill_at_once=True)


def a_provider_that_rests(workers: Workers) -> None:
    workers.one_message_at_a_time()
    workers.use_transport(Channel.EMAIL, ScriptedTransport(outcomes=[DOWN]))
    deliver(Channel.EMAIL, fill_at_once=True)
    workers.meanwhile()


def wrong_credentials(workers: Workers) -> None:
    workers.use_transport(Channel.EMAIL, ScriptedTransport(outcomes=[LOCKED_OUT] * 9))
    deliver(Channel.EMAIL, fill_at_once=True)
    workers.meanwhile()


def no_limits_to_ask(workers: Workers) -> None:
    with socket.create_server((LOOPBACK, 0)) as listener:
        url = f"redis://{LOOPBACK}:{listener.getsockname()[1]}/0"
    workers.change(LIMITS_REDIS_URL=url, LIMITS_TIMEOUT=seconds(0.1))
    limits_server().breaker.reset()
    deliver(Channel.SMS, fill_at_once=True)
    limits_server().client.close()
    workers.change(LIMITS_REDIS_URL="")
    workers.meanwhile()


WHO: dict[str, Callable[[MakeAccount], Request]] = {
    "nobody": lambda make: {"submitted": NOBODY["submitted"]},
    "inactive": lambda make: of(make(is_active=False), "submitted"),
    "by single sign-on": lambda make: of(make(password=None), "submitted"),
    "without destinations": lambda make: of(make(email="", phone=""), "submitted"),
}


@pytest.mark.parametrize("who", list(WHO))
@pytest.mark.parametrize(
    "world", [a_slow_provider, a_provider_that_rests, wrong_credentials, no_limits_to_ask]
)
def test_whoever_asks_again_after_a_worker_came_by_gets_the_same_answer_by_the_same_work(
    change: Settings,
    use_transport: UseTransport,
    make_account: MakeAccount,
    see: See,
    who: str,
    world: Callable[[Workers], None],
) -> None:
    change(DISPATCH="broker")
    # In front of the others, so that they wait behind it.
    ahead = make_account()
    request_reset(account_ref=str(ahead.pk), channels=["email", "sms"], lifetime=seconds(200))
    account = make_account()
    known, other = of(account, "submitted"), WHO[who](make_account)
    before = [see(request) for request in (known, other)]
    assert before[0] == before[1]
    asked_again: list[Any] = []

    def ask_again() -> None:
        unsent = Delivery.objects.filter(state__in=[DeliveryState.PENDING, DeliveryState.LEASED], attempts=0)
        assert unsent.filter(intent__account_ref=str(account.pk), lease_token=1).exists()
        asked_again.extend(see(request) for request in (known, other))

    world(Workers(change=change, use_transport=use_transport, meanwhile=ask_again))
    assert asked_again[0] == asked_again[1]
    assert asked_again[0].is_new
