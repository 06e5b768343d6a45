"""Two providers on real sockets: what each fault of the first one means for the second."""

from __future__ import annotations

import datetime as dt
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from notifications.channels import Channel
from notifications.testing.provider import Behaviour, FakeProvider, Fault
from resetdelivery.delivery import deliver
from resetdelivery.models import Attempt, ProviderCircuit
from resetdelivery.services import request_reset
from resetdelivery.transports import get_providers
from tests.conftest import the_delivery

pytestmark = pytest.mark.django_db

NO_DELAY = dt.timedelta(0)
Told = list[tuple[str, str]]


@pytest.fixture
def second() -> Iterator[FakeProvider]:
    with FakeProvider() as running:
        yield running


@pytest.fixture
def use_providers(settings: Any) -> Iterator[Callable[..., None]]:
    """Two Twilios or two mail servers, at the ports given; no delay before a retry."""
    channels: list[Channel] = []

    def use(channel: Channel, *ports: int, **options: object) -> None:
        path, make = _FORMS[channel]
        listed = [
            {"NAME": name, "TRANSPORT": path, "OPTIONS": make(port)}
            for name, port in zip(("main", "second"), ports, strict=True)
        ]
        values = {"PROVIDERS": listed, "BACKOFF_BASE": NO_DELAY, **options}
        settings.RESETDELIVERY = {**settings.RESETDELIVERY, "CHANNELS": {channel.value: values}}
        channels.append(channel)

    yield use
    for channel in channels:
        for provider in get_providers(channel):
            provider.transport.close()


def _twilio(port: int) -> dict[str, object]:
    return {
        "base_url": f"http://127.0.0.1:{port}",
        "account_sid": "AC0123",
        "auth_token": "marked-auth-token",
        "from_number": "+15005550006",
    }


def _smtp(port: int) -> dict[str, object]:
    return {"host": "127.0.0.1", "port": port, "tls": "none", "from_address": "shop@example.org"}


_FORMS: dict[Channel, tuple[str, Callable[[int], dict[str, object]]]] = {
    Channel.SMS: ("notifications.sms.twilio.TwilioTransport", _twilio),
    Channel.EMAIL: ("notifications.email.smtp.SmtpTransport", _smtp),
}


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def ask_and_deliver(account: Any, channel: Channel, rounds: int) -> Told:
    """Who was asked in so many rounds, and what each answer was taken for."""
    request_reset(account_ref=str(account.pk), channels=[channel.value])
    for _ in range(rounds):
        deliver(channel, fill_at_once=True)
    return list(Attempt.objects.order_by("number").values_list("transport", "outcome"))


@pytest.mark.parametrize("channel", list(Channel))
def test_a_closed_port_is_an_outage_and_the_second_takes_over(
    account: Any, use_providers: Callable[..., None], second: FakeProvider, channel: Channel
) -> None:
    port = second.http_port if channel is Channel.SMS else second.smtp_port
    use_providers(channel, closed_port(), port)
    told = ask_and_deliver(account, channel, 5)
    assert told == [("main", "transient")] * 3 + [("second", "accepted")]
    assert second.store.count(channel.value) == 1


SMS_FAULTS: list[tuple[Fault, Told, tuple[int, int]]] = [
    (
        Fault(channel="sms", behaviour=Behaviour.THROTTLE, seconds=60),
        [("main", "throttled"), ("second", "accepted")],
        (0, 1),
    ),
    (
        Fault(channel="sms", behaviour=Behaviour.REPLY, code=401, error=20003),
        [("main", "misconfigured"), ("second", "accepted")],
        (0, 1),
    ),
    # Refused for good is refused for good: nobody else is asked.
    (
        Fault(channel="sms", behaviour=Behaviour.REPLY, code=400, error=21610),
        [("main", "permanent")],
        (0, 0),
    ),
    # Whatever leaves it open whether it was taken stays with the first.
    (Fault(channel="sms", behaviour=Behaviour.DROP), [("main", "ambiguous"), ("main", "accepted")], (2, 0)),
    (
        Fault(channel="sms", behaviour=Behaviour.DROP, record=False),
        [("main", "ambiguous"), ("main", "accepted")],
        (1, 0),
    ),
    (
        Fault(channel="sms", behaviour=Behaviour.ERROR, code=503, count=0),
        [("main", "ambiguous")] * 2,
        (2, 0),
    ),
    (
        Fault(channel="sms", behaviour=Behaviour.GARBAGE, code=200, count=0),
        [("main", "ambiguous")] * 2,
        (2, 0),
    ),
    (
        Fault(channel="sms", behaviour=Behaviour.DRIP, seconds=0.05, count=0),
        [("main", "ambiguous")] * 2,
        (2, 0),
    ),
]


@pytest.mark.parametrize(
    ("fault", "expected", "copies"),
    SMS_FAULTS,
    ids=lambda value: f"{value.behaviour}-{value.code}" if isinstance(value, Fault) else None,
)
def test_a_fault_of_the_first_sms_provider_leads_to_this(
    account: Any,
    use_providers: Callable[..., None],
    provider: FakeProvider,
    second: FakeProvider,
    fault: Fault,
    expected: Told,
    copies: tuple[int, int],
) -> None:
    provider.faults.add(fault)
    use_providers(Channel.SMS, provider.http_port, second.http_port, SEND_BUDGET=dt.timedelta(seconds=0.5))
    assert ask_and_deliver(account, Channel.SMS, 6) == expected
    assert (provider.store.count("sms"), second.store.count("sms")) == copies


def test_an_email_that_the_first_server_may_have_goes_to_the_second_as_the_same_letter(
    account: Any, use_providers: Callable[..., None], provider: FakeProvider, second: FakeProvider
) -> None:
    provider.faults.add(Fault(channel="email", behaviour=Behaviour.DROP, count=0))
    use_providers(Channel.EMAIL, provider.smtp_port, second.smtp_port)
    told = ask_and_deliver(account, Channel.EMAIL, 5)
    assert told == [("main", "ambiguous")] * 3 + [("second", "accepted")]
    first, *_ = provider.store.list("email")
    (other,) = second.store.list("email")
    assert (other.key, other.body) == (first.key, first.body)


def test_the_second_is_never_asked_inside_the_firsts_attempt(
    account: Any, use_providers: Callable[..., None], second: FakeProvider
) -> None:
    """Each submission has an attempt of its own on record, with a deadline of its own."""
    use_providers(Channel.SMS, closed_port(), second.http_port)
    request_reset(account_ref=str(account.pk), channels=["sms"])
    for asked in range(1, 4):
        deliver(Channel.SMS, fill_at_once=True)
        assert (Attempt.objects.count(), second.store.count()) == (asked, 0)
    deliver(Channel.SMS, fill_at_once=True)
    attempts = list(Attempt.objects.order_by("number"))
    assert (len(attempts), second.store.count()) == (4, 1)
    assert len({attempt.reference for attempt in attempts}) == 4
    assert all(attempt.started_at < the_delivery(Channel.SMS).expires_at for attempt in attempts)


def test_the_first_is_asked_again_once_it_answers_its_probe(
    make_account: Callable[..., Any], db: None, use_providers: Callable[..., None], second: FakeProvider
) -> None:
    port = closed_port()
    use_providers(Channel.SMS, port, second.http_port, OUTAGE_PAUSE=NO_DELAY)
    told = ask_and_deliver(make_account(), Channel.SMS, 3)
    assert told == [("main", "transient")] * 3
    with FakeProvider(http_port=port) as main:
        for _ in range(2):
            ask_and_deliver(make_account(), Channel.SMS, 1)
        assert ProviderCircuit.objects.get().open_until is None
        assert (main.store.count("sms"), second.store.count("sms")) == (2, 1)
