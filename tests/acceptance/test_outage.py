"""A provider goes away for longer than a reset has attempts: no reset with life left is lost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from notifications.testing.provider import Behaviour, FakeProvider, Fault
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import Attempt, Delivery, ProviderCircuit
from resetdelivery.services import request_reset
from tests.acceptance.conftest import MakeAccounts
from tests.acceptance.harness.configuration import MAX_ATTEMPTS
from tests.acceptance.harness.invariants import assert_invariants, assert_open_rows_move_on
from tests.acceptance.harness.stage import Stage
from tests.acceptance.harness.ticks import tick_until, tick_until_finished

pytestmark = pytest.mark.acceptance

SETTINGS = "tests.acceptance.outage_settings"
BACKLOG = 20


@pytest.fixture
def second() -> Iterator[FakeProvider]:
    with FakeProvider() as running:
        yield running


def go_away(provider: FakeProvider) -> None:
    provider.faults.add(Fault(channel="email", behaviour=Behaviour.REFUSE, count=0))


def ask(accounts: list[str]) -> None:
    for account in accounts:
        request_reset(account_ref=account, channels=["email"])


@pytest.mark.parametrize("number", [1, BACKLOG])
def test_with_one_provider_every_reset_waits_and_arrives_when_it_is_back(
    stage: Stage, make_accounts: MakeAccounts, number: int
) -> None:
    go_away(stage.provider)
    for _ in range(2):
        stage.worker(DJANGO_SETTINGS_MODULE=SETTINGS)
    ask(make_accounts(number))
    tick_until(
        lambda: ProviderCircuit.objects.filter(outages__gt=MAX_ATTEMPTS + 4).exists(),
        "more probes than a reset has attempts",
    )
    assert stage.provider.store.count() == 0
    assert Attempt.objects.filter(outcome="transient").count() > MAX_ATTEMPTS
    assert not Delivery.objects.filter(finished_at__isnull=False).exists()
    assert_open_rows_move_on()

    stage.provider.faults.clear()
    tick_until_finished()
    assert set(Delivery.objects.values_list("state", flat=True)) == {DeliveryState.ACCEPTED}
    assert stage.provider.store.count() == number
    assert ProviderCircuit.objects.get().open_until is None
    assert_invariants(stage.provider.store.list())


def test_with_two_providers_the_second_takes_over_and_the_first_comes_back(
    stage: Stage, make_accounts: MakeAccounts, second: FakeProvider
) -> None:
    go_away(stage.provider)
    for _ in range(2):
        stage.worker(DJANGO_SETTINGS_MODULE=SETTINGS, SECOND_SMTP_PORT=str(second.smtp_port))
    ask(make_accounts(BACKLOG))
    tick_until_finished()
    assert set(Delivery.objects.values_list("state", flat=True)) == {DeliveryState.ACCEPTED}
    assert (stage.provider.store.count(), second.store.count()) == (0, BACKLOG)
    assert_invariants(second.store.list())

    stage.provider.faults.clear()

    def the_first_is_back() -> bool:
        ask(make_accounts(1))
        return stage.provider.store.count() > 0

    tick_until(the_first_is_back, "a reset through the first provider")
    tick_until_finished()
    assert not ProviderCircuit.objects.filter(open_until__isnull=False).exists()
    through = dict(Attempt.objects.filter(outcome="accepted").values_list("delivery_id", "transport"))
    assert len(through) == Delivery.objects.count() == stage.provider.store.count() + second.store.count()
