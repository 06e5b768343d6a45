"""The limits' Redis goes away under a real worker: no text message is sent until it is back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from notifications.channels import Channel
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import Attempt, Delivery
from resetdelivery.services import request_reset
from tests.acceptance.conftest import MakeAccounts
from tests.acceptance.harness.invariants import assert_invariants
from tests.acceptance.harness.redis_broker import RedisBroker
from tests.acceptance.harness.stage import Stage
from tests.acceptance.harness.ticks import tick_until, tick_until_finished
from tests.conftest import the_delivery

pytestmark = pytest.mark.acceptance

SETTINGS = "tests.acceptance.limits_settings"

#: How the limits' Redis goes away, and how it comes back.
OUTAGES = [
    pytest.param(RedisBroker.kill, RedisBroker.start_again, id="dead"),
    pytest.param(RedisBroker.freeze, RedisBroker.thaw, id="stalled"),
]


@pytest.fixture
def limits_redis(tmp_path: Path) -> Iterator[RedisBroker]:
    """A Redis for limits alone; the broker is another."""
    folder = tmp_path / "limits"
    folder.mkdir()
    running = RedisBroker(folder)
    yield running
    running.thaw()
    running.stop()


@pytest.mark.parametrize(("goes", "comes_back"), OUTAGES)
def test_without_its_limits_no_text_message_is_sent_and_email_arrives(
    stage: Stage,
    make_accounts: MakeAccounts,
    limits_redis: RedisBroker,
    goes: Callable[[RedisBroker], None],
    comes_back: Callable[[RedisBroker], None],
) -> None:
    worker = stage.worker(DJANGO_SETTINGS_MODULE=SETTINGS, LIMITS_URL=limits_redis.url)
    goes(limits_redis)
    request_reset(account_ref=make_accounts(1)[0], channels=["email", "sms"])
    worker.wait_until_log_says("sms_held_back")
    tick_until(lambda: the_delivery(Channel.EMAIL).state == DeliveryState.ACCEPTED, "the email sent")
    assert stage.provider.store.count("email") == 1
    assert stage.provider.store.count("sms") == 0
    assert not Attempt.objects.filter(delivery__channel=Channel.SMS).exists()

    comes_back(limits_redis)
    tick_until_finished()
    assert set(Delivery.objects.values_list("state", flat=True)) == {DeliveryState.ACCEPTED}
    assert stage.provider.store.count("sms") == 1
    assert_invariants(stage.provider.store.list())


def test_with_its_limits_the_same_worker_sends_both(
    stage: Stage, make_accounts: MakeAccounts, limits_redis: RedisBroker
) -> None:
    stage.worker(DJANGO_SETTINGS_MODULE=SETTINGS, LIMITS_URL=limits_redis.url)
    request_reset(account_ref=make_accounts(1)[0], channels=["email", "sms"])
    tick_until_finished()
    assert stage.provider.store.count("email") == stage.provider.store.count("sms") == 1
