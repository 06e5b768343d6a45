"""An email that bounces a moment later becomes a text message in time."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django import Settings

from notifications.receipts.receipt import ReceiptVerdict
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import Delivery, ResetIntent
from resetdelivery.services import request_reset
from tests.acceptance.conftest import MakeAccounts
from tests.acceptance.harness.invariants import assert_invariants
from tests.acceptance.harness.stage import Stage
from tests.acceptance.harness.waiting import eventually
from tests.later_words import attempt_of, hear

pytestmark = pytest.mark.acceptance


def state_of(channel: str) -> str:
    return Delivery.objects.values_list("state", flat=True).get(channel=channel)


@pytest.fixture
def receipts_for_email(stage: Stage, settings: Settings) -> None:
    """This process reads the receipts, so it knows as the workers do that email gives them."""
    value: dict[str, Any] = settings.RESETDELIVERY
    email = {**value["CHANNELS"]["email"], "GIVES_RECEIPTS": True}
    settings.RESETDELIVERY = {**value, "CHANNELS": {**value["CHANNELS"], "email": email}}


@pytest.mark.usefixtures("receipts_for_email")
def test_a_bounced_email_becomes_a_text_message(stage: Stage, make_accounts: MakeAccounts) -> None:
    stage.worker(DJANGO_SETTINGS_MODULE="tests.acceptance.fallback_settings")
    (account,) = make_accounts(1)
    request_reset(account_ref=account, channels=["email", "sms"], strategy="fallback")
    eventually(lambda: state_of("email") == DeliveryState.ACCEPTED, "the email's acceptance")
    assert state_of("sms") == DeliveryState.WAITING
    hear(attempt_of(), ReceiptVerdict.FAILED)
    eventually(lambda: state_of("sms") == DeliveryState.ACCEPTED, "the text message")
    assert state_of("email") == DeliveryState.FAILED
    assert ResetIntent.objects.get().state == "closed"
    assert (stage.provider.store.count("email"), stage.provider.store.count("sms")) == (1, 1)
    assert_invariants(stage.provider.store.list())
