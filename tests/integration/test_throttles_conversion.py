"""Ranges of numbers whose text messages lead to no resets are named, and no number is."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

import pytest
import redis

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery import tasks
from resetdelivery.delivery import deliver
from resetdelivery.schedule import BEAT_SCHEDULE
from resetdelivery.services import request_reset
from resetdelivery.throttles import conversion
from resetdelivery.throttles.conversion import Conversion, check_conversion, note_sent, note_used
from tests.brokers import everything
from tests.conftest import UseTransport
from tests.integration.conftest import Settings
from tests.steps import REFUSED

GERMAN = [f"+49151123450{i:02}" for i in range(40)]
BRITISH = [f"+4474001234{i:02}" for i in range(40)]
#: The first second of a bucket.
NOW = 1_800_000_000.0
#: Long enough for the messages of before to count: their links are dead.
LATER = 2 * conversion.BUCKET_SECONDS


def later(after: float = LATER) -> list[Conversion]:
    return check_conversion(now=NOW + after)


def german(sent: int, used: int) -> Conversion:
    return Conversion(region="DE", digits="4915112", sent=sent, used=used)


def test_messages_that_lead_to_no_resets_are_an_alarm(limits: redis.Redis[bytes]) -> None:
    note_sent(GERMAN, now=NOW)
    assert later() == [german(40, 0)]


@pytest.mark.parametrize(("used", "alarms"), [(0, True), (3, True), (4, False), (40, False)])
def test_the_alarm_is_for_less_than_so_many_in_a_hundred(
    limits: redis.Redis[bytes], change: Settings, used: int, alarms: bool
) -> None:
    change(CONVERSION_MIN_PERCENT=10)
    note_sent(GERMAN, now=NOW)
    for number in GERMAN[:used]:
        note_used(number, now=NOW)
    assert bool(later()) is alarms


@pytest.mark.parametrize(("least", "alarms"), [(40, True), (41, False)])
def test_few_messages_say_nothing(
    limits: redis.Redis[bytes], change: Settings, least: int, alarms: bool
) -> None:
    change(CONVERSION_MIN_SENT=least)
    note_sent(GERMAN, now=NOW)
    assert bool(later()) is alarms


def test_ranges_are_told_apart(limits: redis.Redis[bytes]) -> None:
    note_sent([*GERMAN, *BRITISH], now=NOW)
    for number in BRITISH:
        note_used(number, now=NOW)
    assert later() == [german(40, 0)]


@pytest.mark.parametrize(
    ("after", "alarms"),
    [(0, False), (LATER - 1, False), (LATER, True), (8 * 600 - 1, True), (8 * 600, False)],
)
def test_messages_count_for_an_hour_from_when_their_links_are_dead(
    limits: redis.Redis[bytes], after: float, alarms: bool
) -> None:
    note_sent(GERMAN, now=NOW)
    assert bool(later(after)) is alarms


def test_the_alarm_names_region_and_range_and_no_number(
    limits: redis.Redis[bytes], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    note_sent(GERMAN, now=NOW)
    later()
    (record,) = [r for r in caplog.records if "sms_conversion_low" in r.getMessage()]
    text = record.getMessage()
    assert all(part in text for part in ("DE", "4915112", "40"))
    assert "15112345" not in caplog.text
    assert b"15112345" not in everything(limits)


def test_the_worst_range_comes_first_and_the_lines_of_a_check_are_bounded(
    limits: redis.Redis[bytes], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(conversion, "MOST_ALARMS", 1)
    note_sent([*GERMAN[:30], *BRITISH], now=NOW)
    assert [one.region for one in later()] == ["GB", "DE"]
    assert caplog.text.count("sms_conversion_low") == 1


def test_more_ranges_than_are_told_apart_are_counted_together(
    limits: redis.Redis[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversion, "MOST_FIELDS", 2)
    for number in ("+4915112345001", "+4915223456001", "+447911123456", "+12125551234", "+4915112345002"):
        note_sent([number], now=NOW)
    (bucket,) = limits.keys("resetdelivery:limits:conversion:*")
    assert limits.hgetall(bucket) == {b"sent:DE:4915112": b"2", b"sent:DE:4915223": b"1", b"sent:rest": b"2"}


@pytest.mark.parametrize("phone", [None, "", "nonsense", "12345", "+", "anna@shop.example"])
def test_an_account_without_a_number_is_no_use_and_no_error(
    limits: redis.Redis[bytes], phone: str | None
) -> None:
    note_used(phone)
    assert limits.keys("*") == []


def test_a_bucket_is_kept_until_it_is_looked_at_no_more(limits: redis.Redis[bytes]) -> None:
    note_sent(GERMAN, now=NOW)
    (bucket,) = limits.keys("*")
    assert 0 < limits.pttl(bucket) <= 9 * conversion.BUCKET_SECONDS * 1000


def test_without_a_redis_for_limits_nothing_is_counted(change: Settings) -> None:
    change(LIMITS_REDIS_URL="")
    note_sent(GERMAN, now=NOW)
    note_used(GERMAN[0], now=NOW)
    assert later() == []


@pytest.mark.django_db
def test_a_worker_counts_what_a_provider_took(
    limits: redis.Redis[bytes], make_account: Callable[..., Any], use_transport: UseTransport
) -> None:
    use_transport(Channel.SMS, ScriptedTransport(outcomes=[REFUSED]))
    for number in GERMAN[:3]:
        request_reset(account_ref=str(make_account(phone=number).pk), channels=["sms"])
    deliver(Channel.SMS)
    (bucket,) = limits.keys("resetdelivery:limits:conversion:*")
    assert limits.hgetall(bucket) == {b"sent:DE:4915112": b"2"}


def test_beat_looks_every_five_minutes() -> None:
    entry = BEAT_SCHEDULE["resetdelivery check_conversion"]
    assert (entry["task"], entry["schedule"]) == (tasks.check_conversion.name, 300.0)


def test_the_task_looks_at_what_is_counted_now(
    limits: redis.Redis[bytes], caplog: pytest.LogCaptureFixture
) -> None:
    note_sent(GERMAN, now=time.time() - LATER)
    tasks.check_conversion()
    assert "sms_conversion_low" in caplog.text
