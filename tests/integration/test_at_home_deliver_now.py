from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from notifications.channels import Channel
from notifications.deadline import Deadline
from notifications.message import Message
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.testing import ScriptedTransport
from resetdelivery.delivery import deliver
from resetdelivery.models import Delivery
from resetdelivery.services import request_reset
from resetdelivery.testing import deliver_now
from resetdelivery.transports import get_transport
from tests.conftest import the_delivery

pytestmark = pytest.mark.django_db

REFUSED = Outcome(kind=OutcomeKind.PERMANENT, reason=Reason.RECIPIENT_REFUSED)
BUSY = Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.PROVIDER_BUSY)


@pytest.fixture(params=["broker", "database", "inline"])
def dispatch(request: pytest.FixtureRequest, settings: Any) -> str:
    """Each boundary in turn; no broker runs and no transport can be made."""
    nowhere = {"TRANSPORT": "nowhere.Transport"}
    settings.RESETDELIVERY = {
        **settings.RESETDELIVERY,
        "DISPATCH": request.param,
        "CHANNELS": {"email": nowhere, "sms": nowhere},
    }
    return str(request.param)


def ask(account: Any, *channels: str) -> None:
    request_reset(account_ref=str(account.pk), channels=channels or ["email", "sms"])


def test_what_is_due_is_submitted_whatever_the_boundary(account: Any, dispatch: str) -> None:
    ask(account)
    email, sms = deliver_now()
    assert (email.channel, email.to) == (Channel.EMAIL, account.email)
    assert (sms.channel, sms.to) == (Channel.SMS, account.phone)
    assert the_delivery(Channel.SMS).state == "accepted"


def test_configured_transports_are_left_as_they_are(account: Any, dispatch: str) -> None:
    ask(account)
    deliver_now()
    with pytest.raises(ImproperlyConfigured):
        get_transport(Channel.EMAIL)


def test_its_link_opens_the_page_for_a_new_password(account: Any, client: Client) -> None:
    ask(account, "email")
    (email,) = deliver_now()
    assert client.get(email.link, follow=True).context["validlink"] is True


def test_both_messages_carry_the_same_link(account: Any) -> None:
    ask(account)
    email, sms = deliver_now()
    assert email.link == sms.link


def test_the_answers_given_are_the_providers(account: Any) -> None:
    ask(account)
    email, sms = deliver_now(outcomes={"sms": [REFUSED]})
    assert (email.outcome.kind, sms.outcome) == (OutcomeKind.ACCEPTED, REFUSED)
    assert the_delivery(Channel.SMS).state == "failed"


def test_answers_go_to_messages_in_the_order_of_admission(make_account: Callable[..., Any]) -> None:
    accounts = [make_account() for _ in range(4)]
    for account in accounts:
        ask(account, "email")
    submitted = deliver_now(outcomes={"email": [BUSY, REFUSED, BUSY]})
    assert [one.to for one in submitted] == [account.email for account in accounts]
    assert [one.outcome.kind.value for one in submitted] == [
        "transient",
        "permanent",
        "transient",
        "accepted",
    ]


class OwnThreadOnly(ScriptedTransport):
    """Notes in which threads it was called."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[int] = set()

    def submit(self, message: Message, deadline: Deadline) -> Outcome:
        self.threads.add(threading.get_ident())
        return super().submit(message, deadline)


def test_a_transport_that_is_passed_in_is_called_in_turn_and_here(make_account: Callable[..., Any]) -> None:
    for _ in range(3):
        ask(make_account(), "email")
    transport = OwnThreadOnly()
    assert deliver(Channel.EMAIL, fill_at_once=True, transport=transport) == 3
    assert transport.threads == {threading.get_ident()}


def test_what_is_not_submitted_is_not_listed(make_account: Callable[..., Any]) -> None:
    ask(make_account(phone=""), "sms")
    assert deliver_now() == []
    assert Delivery.objects.get().reason == "no_destination"


def test_a_second_call_submits_nothing_twice(account: Any) -> None:
    ask(account)
    assert len(deliver_now()) == 2
    assert deliver_now() == []


def test_a_submission_shows_no_address_text_or_link(account: Any) -> None:
    ask(account)
    shown = repr(deliver_now())
    assert "Channel.EMAIL" in shown
    for personal in (account.email, account.phone, "https://"):
        assert personal not in shown


def test_answers_for_an_unknown_channel_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="outcomes names 'post'; configured are email, sms"):
        deliver_now(outcomes={"post": []})
