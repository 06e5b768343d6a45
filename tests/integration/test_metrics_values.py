"""What each metric stands at: totals and open minutes together, and how things are now."""

from __future__ import annotations

import datetime as dt
import time
from typing import Any

import pytest
from django.db import connection

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery import delivery
from resetdelivery.broker import BrokerUnavailable
from resetdelivery.clock import database_now
from resetdelivery.models import (
    ChannelControl,
    Delivery,
    EventMinute,
    EventTotal,
    JobRun,
    OutcomeMinute,
    OutcomeTotal,
    ProviderCircuit,
    RollupState,
)
from resetdelivery.services import request_reset
from resetdelivery.telemetry import metric_names as names
from resetdelivery.telemetry.metric_names import Metric
from resetdelivery.telemetry.metrics.counters import Buckets
from resetdelivery.telemetry.metrics.samples import Values, samples
from resetdelivery.telemetry.metrics.scrape import scrape
from resetdelivery.telemetry.rollup import roll_up
from tests.brokers import Queue
from tests.conftest import age
from tests.integration.conftest import Settings
from tests.moved_clock import moved_clock
from tests.steps import seconds, store

pytestmark = pytest.mark.django_db

__all__ = ["moved_clock"]

MINUTE = dt.timedelta(minutes=1)


def now() -> dict[Metric, Values]:
    return samples(scrape())


def happened(metric: Metric) -> dict[tuple[str, ...], float]:
    """The values of a metric that are not zero."""
    return {labels: value for labels, value in now()[metric].items() if value != 0}  # type: ignore[misc]


def closed_until(minute: dt.datetime | None) -> None:
    RollupState.objects.update_or_create(id=1, defaults={"closed_before": minute})


def this_minute() -> dt.datetime:
    return database_now(connection).replace(second=0, microsecond=0)


def outcome(minute: dt.datetime | None, **fields: Any) -> None:
    labels = {"channel": "email", "outcome": "accepted", "template_version": "1"}
    if minute is None:
        OutcomeTotal.objects.create(**{**labels, **fields})
    else:
        OutcomeMinute.objects.create(minute=minute, **{**labels, **fields})


def event(minute: dt.datetime | None, name: str, label: str, count: int, **fields: Any) -> None:
    labels = {"event": name, "channel": "email", "label": label, "count": count}
    if minute is None:
        EventTotal.objects.create(**labels, **fields)
    else:
        EventMinute.objects.create(minute=minute, **labels, **fields)


def test_a_counter_is_the_totals_and_every_open_minute() -> None:
    minute = this_minute()
    closed_until(minute - 2 * MINUTE)
    outcome(None, attempts=1000)
    outcome(minute - 3 * MINUTE, attempts=500)  # is in the totals
    outcome(minute - 2 * MINUTE, attempts=30)
    outcome(minute, attempts=4)
    outcome(minute, attempts=1, kept=True)
    assert happened(names.ATTEMPTS) == {("email", "accepted", "1"): 1035}


def test_before_the_first_minute_was_closed_all_minutes_count() -> None:
    outcome(this_minute() - 5000 * MINUTE, attempts=30)
    assert happened(names.ATTEMPTS) == {("email", "accepted", "1"): 30}
    closed_until(None)
    assert happened(names.ATTEMPTS) == {("email", "accepted", "1"): 30}


def test_template_versions_without_a_label_are_told_together(change: Settings) -> None:
    change(MEASURED_VERSIONS=["b1"])
    for version, attempts in [("1", 1), ("b1", 10), ("a1", 100), ("a2", 1000)]:
        outcome(None, template_version=version, attempts=attempts)
    assert happened(names.ATTEMPTS) == {
        ("email", "accepted", "1"): 1,
        ("email", "accepted", "b1"): 10,
        ("email", "accepted", "retired"): 1100,
    }


def test_buckets_and_sums_of_all_outcomes_are_added_up() -> None:
    for name, attempts in [("accepted", 3), ("permanent", 2)]:
        counts = {"duration_counts": [attempts, *[0] * 8, 1], "duration_seconds": 40.5}
        outcome(None, outcome=name, attempts=attempts + 1, **counts)
    assert now()[names.DURATION]["email",] == Buckets(counts=[5, *[0] * 8, 2], total=81.0)
    assert now()[names.DURATION]["sms",] == Buckets(counts=[0] * 10, total=0.0)


def test_the_life_that_was_left_is_that_of_accepted_attempts_alone() -> None:
    for name, share in [("accepted", 0.5), ("transient", 0.25)]:
        counts = {"remaining_counts": [0, 0, 0, 1, 0, 0, 0], "remaining_ratio": share}
        outcome(None, outcome=name, attempts=1, **counts)
    assert now()[names.REMAINING]["email",] == Buckets(counts=[0, 0, 0, 1, 0, 0, 0], total=0.5)


def test_attempts_by_sms_are_told_by_their_segments() -> None:
    outcome(None, channel="sms", attempts=7, segments_counts=[1, 2, 0, 0, 4])
    assert happened(names.SMS_ATTEMPTS) == {("1",): 1, ("2",): 2, ("7+",): 4}


@pytest.mark.parametrize(
    ("metric", "name", "label"),
    [
        (names.ADMITTED, "admitted", "pipeline"),
        (names.FINISHED, "finished", "expired"),
        (names.SHADOW_FINISHED, "shadow_finished", "shadowed"),
        (names.USELESS_EXPIRED, "expired_usefully", "retry_does_not_fit"),
        (names.RECEIPTS, "receipt", "delivered"),
        (names.LATE_OUTCOMES, "late_outcome", "accepted"),
        (names.HINTS, "hint", "suppressed"),
        (names.HINTS, "later_hint", "failed"),
        (names.LEASE_RECOVERIES, "lease_recovered", "submitting"),
    ],
)
def test_each_event_is_counted_under_its_metric_alone(metric: Metric, name: str, label: str) -> None:
    minute = this_minute()
    event(None, name, label, 100)
    event(minute, name, label, 20)
    event(minute, name, label, 3, kept=True)
    counters = [one for one in names.METRICS if one.kind == "counter"]
    found = {one: happened(one) for one in counters if happened(one)}
    assert found == {metric: {("email", label): 123}}


def test_reports_are_told_by_what_was_reported_whatever_became_of_ours() -> None:
    for label, count in [("shadowed:accepted", 5), ("open:accepted", 2), ("expired:not_sent", 1)]:
        event(None, "legacy_reported", label, count)
    assert happened(names.LEGACY_REPORTED) == {("email", "accepted"): 7, ("email", "not_sent"): 1}


def test_hints_of_admissions_and_later_ones_are_one_sum() -> None:
    event(None, "hint", "published", 5)
    event(None, "later_hint", "published", 2)
    assert happened(names.HINTS) == {("email", "published"): 7}


def test_other_reasons_to_expire_are_told_together() -> None:
    for reason, count in [("authentication_failed", 1), ("account_suspended", 2), ("no_useful_time_left", 4)]:
        event(None, "expired_usefully", reason, count)
    assert happened(names.USELESS_EXPIRED) == {
        ("email", "other"): 3,
        ("email", "no_useful_time_left"): 4,
    }


def test_a_reset_that_was_sent_is_in_every_metric_that_it_concerns(
    account: Any, email: ScriptedTransport
) -> None:
    request_reset(account_ref=str(account.pk), channels=["email"])
    assert delivery.deliver(Channel.EMAIL, fill_at_once=True) == 1
    roll_up()
    assert happened(names.ADMITTED) == {("email", "pipeline"): 1}
    assert happened(names.FINISHED) == {("email", "accepted"): 1}
    assert happened(names.ATTEMPTS) == {("email", "accepted", "1"): 1}
    for metric in (names.QUEUE_DELAY, names.DURATION, names.REMAINING, names.LEASE_USED):
        histogram = now()[metric]["email",]
        assert isinstance(histogram, Buckets)
        assert sum(histogram.counts) == 1


def test_a_total_outlives_the_rows_that_it_counts(account: Any, email: ScriptedTransport) -> None:
    request_reset(account_ref=str(account.pk), channels=["email"])
    delivery.deliver(Channel.EMAIL, fill_at_once=True)
    age(3600)
    roll_up()
    counted = happened(names.ATTEMPTS), happened(names.FINISHED)
    assert counted[0]
    for model in (OutcomeMinute, EventMinute):
        model._default_manager.all().delete()
    Delivery.objects.all().delete()
    roll_up()
    assert (happened(names.ATTEMPTS), happened(names.FINISHED)) == counted


def test_the_oldest_delivery_that_is_due_is_told_by_its_age() -> None:
    store(1, Channel.SMS, overdue=40)
    store(1, Channel.SMS, overdue=-40)
    found = now()[names.OLDEST_ELIGIBLE]
    assert 40 <= float(str(found["sms",])) < 70
    assert found["email",] == 0


def test_open_deliveries_are_told_by_channel_and_state(make_account: Any) -> None:
    request_reset(account_ref=str(make_account().pk), channels=["email", "sms"], strategy="fallback")
    assert happened(names.OPEN_DELIVERIES) == {("email", "pending"): 1, ("sms", "waiting"): 1}


def test_a_channel_is_in_one_mode_and_live_unless_it_says_otherwise() -> None:
    ChannelControl.objects.update_or_create(channel="sms", defaults={"mode": "shadow"})
    assert happened(names.CHANNEL_MODE) == {("email", "live"): 1, ("sms", "shadow"): 1}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"paused": False}, {}),
        ({"paused": True, "pause_reason": "misconfigured"}, {("sms", "misconfigured"): 1}),
        ({"paused": True, "pause_reason": ""}, {("sms", "operator"): 1}),
        # It lets one delivery through, and sends again if that goes well.
        ({"paused": False, "pause_reason": "misconfigured", "probing": True}, {}),
    ],
)
def test_a_paused_channel_says_why(fields: dict[str, Any], expected: dict[tuple[str, str], int]) -> None:
    if fields.get("probing"):
        fields["probe_at"] = database_now(connection)
    ChannelControl.objects.update_or_create(channel="sms", defaults=fields)
    assert happened(names.CHANNEL_PAUSED) == expected


def test_a_provider_that_is_passed_over_is_named(change: Settings) -> None:
    one, two = ({"NAME": name, "TRANSPORT": "tests.transports.email"} for name in ("one", "two"))
    change(CHANNELS={"email": {"PROVIDERS": [one, two]}, "sms": {"TRANSPORT": "tests.transports.sms"}})
    at = database_now(connection)
    for channel, provider, until in [("email", "two", at), ("email", "one", None), ("sms", "scripted", at)]:
        ProviderCircuit.objects.create(channel=channel, provider=provider, open_until=until)
    assert happened(names.CIRCUIT_OPEN) == {("email", "two"): 1, ("sms", "only"): 1}


def test_work_that_never_succeeded_did_so_at_zero() -> None:
    at = database_now(connection) - seconds(90)
    JobRun.objects.create(name="sweep", succeeded_at=at, took_seconds=0.25)
    found = now()[names.JOB_SUCCESS]
    assert found["sweep",] == pytest.approx(at.timestamp(), abs=0.001)
    assert found["purge",] == 0
    assert happened(names.JOB_DURATION) == {("sweep",): 0.25}


def test_the_lifetime_is_the_one_that_a_channel_allows(change: Settings, settings: Any) -> None:
    channels = {**settings.RESETDELIVERY["CHANNELS"]}
    channels["sms"] = {**channels["sms"], "MAX_LIFETIME": seconds(300)}
    change(LIFETIME=seconds(600), CHANNELS=channels)
    assert now()[names.LIFETIME] == {("email",): 600, ("sms",): 300}


def test_the_queues_lengths_are_the_brokers(queue: Queue) -> None:
    queue.length = 7
    assert now()[names.QUEUE_LENGTH] == {("email",): 7, ("sms",): 7}
    assert now()[names.BROKER_UP] == {(): 1}


def test_a_broker_that_is_away_has_no_length(queue: Queue) -> None:
    queue.is_up = False
    found = now()
    assert found[names.BROKER_UP] == {(): 0}
    assert found[names.QUEUE_LENGTH] == {}
    assert found[names.SCRAPE_SUCCESS] == {(): 1}


def test_where_no_broker_is_used_nothing_is_said_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resetdelivery.broker.queue_length", lambda _: pytest.fail("the broker was asked"))
    assert now().keys() & {names.BROKER_UP, names.QUEUE_LENGTH} == set()


def test_a_channel_behind_one_that_cannot_be_asked_is_not_waited_for(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def away(name: str) -> int:
        asked.append(name)
        raise BrokerUnavailable

    monkeypatch.setattr("resetdelivery.broker.queue_length", away)
    now()
    assert len(asked) == 1


def test_a_scrape_says_how_long_it_took() -> None:
    started = time.monotonic()
    (took,) = now()[names.SCRAPE_DURATION].values()
    assert isinstance(took, float)
    assert 0 < took <= time.monotonic() - started
