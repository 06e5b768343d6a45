from __future__ import annotations

from typing import Any

import pytest

from resetdelivery.models import ChannelControl, Delivery
from resetdelivery.services import request_reset
from resetdelivery.telemetry.health import channel_health
from tests.conftest import age
from tests.integration.test_indexes import whole_scans
from tests.internal_api import Service, service

pytestmark = pytest.mark.django_db

WHERE = "/internal/delivery-health"


@pytest.fixture
def monitor(db: None) -> Service:
    return service("monitor")


def numbers(monitor: Service) -> dict[str, dict[str, Any]]:
    answer = monitor.get(WHERE)
    assert answer.status_code == 200
    return {one["channel"]: one for one in answer.get_json()["channels"]}


def idle(channel: str) -> dict[str, Any]:
    counts = dict.fromkeys(["waiting", "pending", "leased", "submitting"], 0)
    return {"channel": channel, "paused": False, **counts, "oldest_due_seconds": None}


@pytest.mark.parametrize(("window", "length"), [("1m", 60), ("5m", 300), ("15m", 900), ("1h", 3600)])
def test_each_window_has_a_length(monitor: Service, window: str, length: int) -> None:
    assert monitor.get(f"{WHERE}?window={window}").get_json()["window_seconds"] == length


def test_five_minutes_are_the_usual_window(monitor: Service) -> None:
    assert monitor.get(WHERE).get_json()["window_seconds"] == 300


def test_without_any_work_every_number_is_there_and_nothing_is_due(monitor: Service) -> None:
    assert numbers(monitor) == {name: idle(name) for name in ("email", "sms")}


def test_open_deliveries_are_counted_by_channel_and_state(monitor: Service, make_account: Any) -> None:
    for _ in range(2):
        request_reset(account_ref=str(make_account().pk), channels=["email", "sms"], strategy="fallback")
    told = numbers(monitor)
    assert (told["email"]["pending"], told["email"]["waiting"]) == (2, 0)
    assert (told["sms"]["pending"], told["sms"]["waiting"]) == (0, 2)
    assert told["sms"]["oldest_due_seconds"] is None


def test_the_oldest_due_delivery_is_told_by_its_age(monitor: Service, make_account: Any) -> None:
    request_reset(account_ref=str(make_account().pk), channels=["email"])
    age(40)
    request_reset(account_ref=str(make_account().pk), channels=["email"])
    assert 40 <= numbers(monitor)["email"]["oldest_due_seconds"] < 60


def test_what_is_due_later_is_not_due(monitor: Service, account: Any) -> None:
    request_reset(account_ref=str(account.pk), channels=["email"])
    age(-40)
    told = numbers(monitor)["email"]
    assert (told["pending"], told["oldest_due_seconds"]) == (1, None)


def test_finished_deliveries_are_not_counted(monitor: Service, account: Any) -> None:
    request_reset(account_ref=str(account.pk), channels=["email"])
    delivery = Delivery.objects.get()
    Delivery.objects.update(state="accepted", finished_at=delivery.due_at)
    assert numbers(monitor)["email"] == idle("email")


def test_a_paused_channel_says_so(monitor: Service) -> None:
    ChannelControl.objects.update_or_create(channel="sms", defaults={"paused": True})
    assert {name: told["paused"] for name, told in numbers(monitor).items()} == {"email": False, "sms": True}


def test_the_answer_has_one_size_however_much_is_stored(monitor: Service, make_account: Any) -> None:
    before = monitor.get(WHERE).get_json()
    for _ in range(20):
        request_reset(account_ref=str(make_account().pk), channels=["email", "sms"])
    after = monitor.get(WHERE).get_json()
    assert [sorted(one) for one in after["channels"]] == [sorted(one) for one in before["channels"]]


def test_no_finished_row_is_read_for_it(account: Any) -> None:
    request_reset(account_ref=str(account.pk), channels=["email"])
    with whole_scans() as found:
        channel_health()
    assert found == []
