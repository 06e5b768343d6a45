"""Who has an account is nobody's business: not even while nothing can be delivered."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from notifications.channels import Channel
from resetdelivery.models import Attempt, Delivery
from resetdelivery.transports import get_transport
from tests.integration.conftest import Settings, UseBroker
from tests.requesters import shape
from tests.threats.pages import ask

pytestmark = pytest.mark.django_db(transaction=True)

NOBODY = "nobody@shop.example"


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port at which connections are refused: bound, and nobody listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.fixture
def nothing_works(
    change: Settings, closed_port: int, use_broker: UseBroker
) -> Iterator[Callable[[str], None]]:
    """Sets how to dispatch; broker and providers are, in earnest, a port at which nobody listens."""
    smtp = {"host": "127.0.0.1", "port": closed_port, "tls": "none", "from_address": "a@shop.example"}
    twilio = {"account_sid": "AC" + "0" * 32, "auth_token": "a token", "from_number": "+15005550006"}
    gateway = {"base_url": f"http://127.0.0.1:{closed_port}", **twilio}
    channels = {
        "email": {"TRANSPORT": "notifications.email.smtp.SmtpTransport", "OPTIONS": smtp},
        "sms": {"TRANSPORT": "notifications.sms.twilio.TwilioTransport", "OPTIONS": gateway},
    }
    use_broker(f"redis://127.0.0.1:{closed_port}/0")
    yield lambda dispatch: change(DISPATCH=dispatch, CHANNELS=channels)
    for channel in Channel:
        get_transport(channel).close()


def answer(client: Client, typed: str) -> tuple[Any, ...]:
    """Everything of an answer that a browser sees, but for the second in which it was given."""
    response = ask(client, typed)
    headers = {name: value for name, value in response.headers.items() if name != "Expires"}
    return response.status_code, headers, response.content, response.cookies.items()


def steps(client: Client, typed: str) -> list[str]:
    """The statements of a whole request."""
    with CaptureQueriesContext(connection) as captured:
        ask(client, typed)
    return [shape(query["sql"]) for query in captured.captured_queries]


@pytest.mark.parametrize("dispatch", ["broker", "database", "inline"])
def test_a_dead_mail_server_and_a_dead_broker_change_no_answer(
    client: Client, account: Any, nothing_works: Callable[[str], None], dispatch: str
) -> None:
    nothing_works(dispatch)
    known, unknown = answer(client, account.email), answer(client, NOBODY)
    assert known == unknown
    assert known[0] == 302
    # Where the caller itself delivers, it was tried, and said nothing about it.
    outcomes = Attempt.objects.values_list("outcome", flat=True)
    assert set(outcomes) == ({"transient"} if dispatch == "inline" else set())


@pytest.mark.parametrize("dispatch", ["broker", "database"])
def test_while_nothing_can_be_delivered_a_request_takes_the_same_steps_for_everybody(
    client: Client, account: Any, nothing_works: Callable[[str], None], dispatch: str
) -> None:
    nothing_works(dispatch)
    known, unknown = steps(client, account.email), steps(client, NOBODY)
    assert known == unknown
    assert len([sql for sql in known if re.match("INSERT", sql)]) >= 3
    assert Delivery.objects.count() == 4
