"""A channel that is configured no more: what is left of it ends, and holds up nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import ResetIntent
from resetdelivery.recovery import expire_overdue, sweep
from resetdelivery.services import request_reset
from tests.conftest import age, the_delivery
from tests.integration.conftest import Settings
from tests.steps import record, take

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("marked", [False, True], ids=["leased", "submitting"])
def test_the_sweep_puts_back_other_channels_all_the_same(
    account: Any, change: Settings, settings: Any, email: ScriptedTransport, marked: bool
) -> None:
    request_reset(account_ref=str(account.pk), channels=["email", "sms"])
    claimed = [*take(Channel.SMS), *take(Channel.EMAIL)]
    if marked:
        record(claimed[:1])
    change(CHANNELS={"email": settings.RESETDELIVERY["CHANNELS"]["email"]})
    age(60)
    assert sweep().put_back == 2
    assert the_delivery(Channel.EMAIL).state == DeliveryState.PENDING


def test_its_rows_expire_and_their_intent_closes(account: Any, change: Settings, settings: Any) -> None:
    request_reset(account_ref=str(account.pk), channels=["sms"])
    change(CHANNELS={"email": settings.RESETDELIVERY["CHANNELS"]["email"]})
    age(700)
    assert expire_overdue() == 1
    assert the_delivery(Channel.SMS).state == DeliveryState.EXPIRED
    assert ResetIntent.objects.get().state == "closed"
