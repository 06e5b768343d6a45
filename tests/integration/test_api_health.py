from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from django.db import connection

from notifications.channels import Channel
from notifications.outcome import OutcomeKind
from resetdelivery.clock import database_now
from resetdelivery.domain.telemetry import CountedEvent, Job
from resetdelivery.models import ChannelControl, Delivery
from resetdelivery.services import request_reset
from tests.conftest import age
from tests.counted import attempts, events, succeeded
from tests.internal_api import Service, service
from tests.moved_clock import moved_clock
from tests.steps import pause, seconds

__all__ = ["moved_clock"]

pytestmark = pytest.mark.django_db

WHERE = "/internal/delivery-health"


@pytest.fixture
def monitor(db: None) -> Service:
    return service("monitor")


def told(monitor: Service, query: str = "") -> dict[str, Any]:
    answer = monitor.get(WHERE + query)
    assert answer.status_code == 200
    return dict(answer.get_json())


def numbers(monitor: Service) -> dict[str, dict[str, Any]]:
    return {one["channel"]: one for one in told(monitor)["channels"]}


def idle(channel: str) -> dict[str, Any]:
    states = ["waiting", "pending", "leased", "submitting"]
    happened = ["admitted", "finished", "expired_usefully", "lease_recoveries"]
    percentiles = ["p50_seconds", "p95_seconds", "p99_seconds"]
    return {
        "channel": channel,
        "verdict": "ok",
        "reasons": [],
        "mode": "live",
        "paused": False,
        "oldest_due_seconds": None,
        "oldest_shadow_seconds": None,
        **dict.fromkeys(states + happened, 0),
        "attempts": dict.fromkeys(list(OutcomeKind), 0),
        "queue_delay": {**dict.fromkeys(percentiles), "beyond": 0},
        "life_left_at_acceptance": {"median": None, "quarter_or_less": 0},
    }


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


def test_what_happened_in_the_window_is_told_per_channel(monitor: Service) -> None:
    attempts(OutcomeKind.ACCEPTED, [0.05] * 4, left=[0.95] * 3 + [0.2], channel=Channel.SMS)
    events({CountedEvent.ADMITTED: 5, CountedEvent.LEASE_RECOVERED: 1}, channel=Channel.SMS)
    found = numbers(monitor)
    assert found["email"] == idle("email")
    assert found["sms"] == idle("sms") | {
        "attempts": idle("sms")["attempts"] | {"accepted": 4},
        "queue_delay": {"p50_seconds": 0.05, "p95_seconds": 0.095, "p99_seconds": 0.099, "beyond": 0},
        "life_left_at_acceptance": {"median": 0.933, "quarter_or_less": 1},
        "admitted": 5,
        "lease_recoveries": 1,
    }


def test_the_whole_and_each_channel_have_a_verdict_with_its_reasons(monitor: Service) -> None:
    succeeded(Job.ROLL_UP)
    succeeded(Job.SWEEP, 60)
    pause(Channel.SMS, pause_reason="misconfigured")
    found = told(monitor)
    assert (found["verdict"], found["reasons"]) == ("failing", ["sweep_late"])
    assert {one["channel"]: (one["verdict"], one["reasons"]) for one in found["channels"]} == {
        "email": ("ok", []),
        "sms": ("failing", ["paused_misconfigured"]),
    }


def test_ages_and_moments_are_null_for_what_never_was(monitor: Service) -> None:
    found = told(monitor)
    never = ("sweep_age_seconds", "rollup_age_seconds", "counted_until", "broker_reachable")
    assert [found[name] for name in never] == [None] * 4
    assert found["counted_from"].endswith(":00Z")


def test_ages_and_moments_are_told(monitor: Service) -> None:
    succeeded(Job.SWEEP, 7)
    succeeded(Job.ROLL_UP, 3)
    found = told(monitor)
    assert 7 <= found["sweep_age_seconds"] < 60
    assert 3 <= found["rollup_age_seconds"] < 60
    assert dt.datetime.fromisoformat(found["counted_until"]) <= database_now(connection) - seconds(3)


def test_the_answer_has_one_size_however_much_is_stored(monitor: Service, make_account: Any) -> None:
    before = monitor.get(WHERE).get_json()
    for _ in range(20):
        request_reset(account_ref=str(make_account().pk), channels=["email", "sms"])
    after = monitor.get(WHERE).get_json()
    assert [sorted(one) for one in after["channels"]] == [sorted(one) for one in before["channels"]]
