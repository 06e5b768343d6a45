"""Anymail's tracking signal, and what of it reaches a delivery."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from anymail.signals import AnymailTrackingEvent, tracking
from django.db import DatabaseError
from django.utils import timezone

from notifications.channels import Channel
from notifications.receipts.callback import CallbackPostponed
from notifications.testing import ScriptedTransport
from resetdelivery import callbacks
from resetdelivery.claims import Marked
from resetdelivery.delivery import deliver
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import Attempt, Delivery
from resetdelivery.services import request_reset
from tests.integration.conftest import Settings
from tests.steps import answer, record, store, take

pytestmark = pytest.mark.django_db

ADDRESS = "marked.buyer.1618@shop.example"


@pytest.fixture(autouse=True)
def _connected(change: Settings) -> Iterator[None]:
    change(RECEIPTS={"anymail": {"window": dt.timedelta(minutes=5)}})
    callbacks.connect_anymail()
    yield
    assert tracking.disconnect(dispatch_uid="resetdelivery.callbacks")


@pytest.fixture
def accepted() -> Marked:
    store()
    (marked,) = record(take())
    answer([marked])
    return marked


def send(event_type: str, attempt: uuid.UUID, **values: Any) -> None:
    event = AnymailTrackingEvent(
        event_type=event_type,
        metadata={"reference": str(attempt)},
        recipient=ADDRESS,
        mta_response=f"550 no such user {ADDRESS}",
        **{"timestamp": timezone.now(), **values},
    )
    tracking.send(sender=object, event=event, esp_name="Mailgun")


def test_a_bounce_fails_an_accepted_email(accepted: Marked) -> None:
    send("bounced", accepted.attempt_reference, reject_reason="bounced")
    assert Delivery.objects.get().state == DeliveryState.FAILED


def test_a_delivery_is_kept_against_a_late_bounce(accepted: Marked) -> None:
    for event_type in ("delivered", "bounced", "delivered"):
        send(event_type, accepted.attempt_reference)
    assert Delivery.objects.get().state == DeliveryState.DELIVERED


def test_an_email_carries_the_reference_that_its_receipt_comes_back_with(
    account: Any, email: ScriptedTransport
) -> None:
    request_reset(account_ref=str(account.pk), channels=["email"])
    deliver(Channel.EMAIL)
    (mail,) = email.messages
    assert mail.reference == str(Attempt.objects.get().reference)


def test_an_event_outside_the_window_changes_nothing(accepted: Marked) -> None:
    send("bounced", accepted.attempt_reference, timestamp=timezone.now() - dt.timedelta(minutes=6))
    assert Attempt.objects.get().receipt == ""


def test_mail_of_others_is_no_error(accepted: Marked) -> None:
    send("bounced", uuid.uuid4())
    assert Delivery.objects.get().state == DeliveryState.ACCEPTED


def test_no_address_reaches_a_log(accepted: Marked, caplog: pytest.LogCaptureFixture) -> None:
    send("bounced", accepted.attempt_reference)
    assert "receipt_callback" in caplog.text
    assert "marked.buyer" not in caplog.text


def test_a_database_that_is_away_has_anymail_asked_again(
    accepted: Marked, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_: object) -> None:
        raise DatabaseError(ADDRESS)

    monkeypatch.setattr(callbacks, "record", away)
    with pytest.raises(CallbackPostponed) as caught:
        send("bounced", accepted.attempt_reference)
    assert str(caught.value) == ""
