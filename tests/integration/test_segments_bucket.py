"""What is recorded of an SMS's length: a bucket, once per attempt, and never the text."""

from __future__ import annotations

import importlib
import itertools
from typing import Any

import pytest
from django.db import connection

from notifications.channels import Channel
from notifications.message import SmsMessage
from notifications.testing import ScriptedTransport
from resetdelivery.clock import database_now
from resetdelivery.delivery import deliver
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import Delivery
from resetdelivery.services import request_reset
from resetdelivery.telemetry.rollup import roll_up
from tests.conftest import the_delivery
from tests.rolled import counts, displayed
from tests.steps import BUSY

pytestmark = pytest.mark.django_db


@pytest.fixture
def account(make_account: Any) -> Any:
    """One with a short key: whatever ran before, its link is always as long."""
    return make_account(pk=7)


def brand(settings: Any, name: str, **sms: Any) -> None:
    channels = settings.RESETDELIVERY["CHANNELS"]
    settings.RESETDELIVERY = {
        **settings.RESETDELIVERY,
        "BRAND": name,
        "CHANNELS": {**channels, "sms": {**channels["sms"], **sms}},
    }


@pytest.mark.parametrize(
    ("letters", "bucket"), [(4, "1"), (160, "2"), (230, "3"), (700, "4-6"), (1200, "7+")]
)
def test_a_sent_sms_leaves_its_bucket(
    account: Any, sms: ScriptedTransport, settings: Any, letters: int, bucket: str
) -> None:
    brand(settings, "S" * letters, MAX_SEGMENTS=20)
    request_reset(account_ref=str(account.pk), channels=["sms"])
    deliver(Channel.SMS)
    delivery = the_delivery(Channel.SMS)
    assert (delivery.state, delivery.segments_bucket) == (DeliveryState.ACCEPTED, bucket)


def test_each_row_of_a_wave_has_its_own_bucket(
    make_account: Any, sms: ScriptedTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts = [make_account() for _ in range(3)]
    for account in accounts:
        request_reset(account_ref=str(account.pk), channels=["sms"])
    buckets = itertools.cycle(["1", "2", "3"])
    # The package's name "mark" is the function.
    module = importlib.import_module("resetdelivery.claims.mark")
    monkeypatch.setattr(module, "segments_bucket", lambda _: next(buckets))
    deliver(Channel.SMS)
    rows = Delivery.objects.order_by("expires_at", "pk").values_list("segments_bucket", flat=True)
    assert list(rows) == ["1", "2", "3"]


def test_a_retry_with_a_longer_text_takes_nothing_from_what_was_counted(
    account: Any, use_transport: Any, settings: Any
) -> None:
    use_transport(Channel.SMS, ScriptedTransport(outcomes=[BUSY]))
    request_reset(account_ref=str(account.pk), channels=["sms"])
    deliver(Channel.SMS)
    roll_up()
    before = counts(displayed())
    Delivery.objects.update(due_at=database_now(connection))
    brand(settings, "S" * 700, MAX_SEGMENTS=20)
    deliver(Channel.SMS)
    roll_up()
    delivery = the_delivery(Channel.SMS)
    assert (delivery.attempts, delivery.segments_bucket) == (2, "1")
    assert before
    assert before - counts(displayed()) == {}


def test_an_email_has_no_segments(account: Any, email: ScriptedTransport) -> None:
    request_reset(account_ref=str(account.pk), channels=["email"])
    deliver(Channel.EMAIL)
    delivery = the_delivery()
    assert (delivery.state, delivery.segments_bucket) == (DeliveryState.ACCEPTED, "")


def test_a_text_over_the_cap_fails_before_anything_is_submitted(
    account: Any, sms: ScriptedTransport, settings: Any
) -> None:
    brand(settings, "S" * 160, MAX_SEGMENTS=1)
    request_reset(account_ref=str(account.pk), channels=["sms"])
    deliver(Channel.SMS)
    delivery = the_delivery(Channel.SMS)
    assert (delivery.state, delivery.reason) == (DeliveryState.FAILED, "invalid_message")
    assert (delivery.attempts, delivery.segments_bucket) == (0, "")
    assert sms.messages == []


@pytest.mark.parametrize(("typography", "name"), [("plain", "Ann's"), ("as_written", "Ann\u2019s")])
def test_the_typographic_fallback_is_a_setting(
    account: Any, sms: ScriptedTransport, settings: Any, typography: str, name: str
) -> None:
    brand(settings, "Ann\u2019s", TYPOGRAPHY=typography)
    request_reset(account_ref=str(account.pk), channels=["sms"])
    deliver(Channel.SMS)
    (message,) = sms.messages
    assert isinstance(message, SmsMessage)
    assert message.text.startswith(f"{name}: ")
    assert the_delivery(Channel.SMS).segments_bucket == str(message.segments)


def test_a_stored_number_is_dialled_in_todays_form(make_account: Any, sms: ScriptedTransport) -> None:
    account = make_account(phone="+5215512345678")
    request_reset(account_ref=str(account.pk), channels=["sms"])
    deliver(Channel.SMS)
    assert [message.to for message in sms.messages] == ["+525512345678"]
