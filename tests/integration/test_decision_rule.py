"""The rule's terms from settings and from what was measured, and what would mend it."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest
from celery import schedules
from django.db import connection

from config import settings as project
from notifications.channels import Channel
from notifications.outcome import OutcomeKind
from resetdelivery.clock import database_now
from resetdelivery.conf import Dispatch, Settings, load
from resetdelivery.decision_rule import mends, way_of
from resetdelivery.decision_rule.measured import NOTHING, Measured, Percentiles, Untried, measure
from resetdelivery.decision_rule.way import Way
from resetdelivery.domain.telemetry import DURATION_SECONDS, counted
from resetdelivery.exceptions import InvalidExpiry
from resetdelivery.models import Attempt, Delivery, OutcomeMinute, ResetIntent
from resetdelivery.schedule import beat_schedule
from resetdelivery.services import request_reset
from tests import counted as counts
from tests import settings as test_settings
from tests.acceptance.harness.configuration import reset_delivery
from tests.integration.conftest import Settings as Change
from tests.steps import seconds, store

DAY = dt.timedelta(days=1)


def settings_with(**changes: Any) -> Settings:
    """The defaults with email alone, and changes; those of the channel under ``CHANNEL``."""
    channel = changes.pop("CHANNEL", {})
    return load({"CHANNELS": {"email": channel}, **changes})


def email_way(measured: Measured = NOTHING, *, boundary: str = "broker", **changes: Any) -> Way:
    return way_of(settings_with(**changes), Channel.EMAIL, Dispatch(boundary), measured)


def worst(way: Way) -> dict[str, float]:
    return {name.removesuffix("_seconds"): term.worst for name, term in way.terms.items()}


def normal(way: Way) -> dict[str, float]:
    return {name.removesuffix("_seconds"): term.normal for name, term in way.terms.items()}


# From settings alone.


def test_the_terms_of_the_broker_are_the_defaults() -> None:
    assert worst(email_way()) == {
        "rounding": 1,
        "admission": 0,
        "hint": 1,
        "queue": 1,
        "claim": 0,
        "recovery": 30 + 10 + 1 + 1,
        "failure": 15,
        "pause": 30,
        "wake": 1 + 1,
        "latency": 2,
    }


def test_normally_nobody_dies_and_failures_and_hints_come_at_once() -> None:
    same = {"rounding": 1, "admission": 0, "queue": 1, "claim": 0, "wake": 1, "latency": 2}
    assert normal(email_way()) == {**same, "hint": 0, "recovery": 0, "failure": 2, "pause": 0}


def test_a_poller_looks_each_interval_where_the_broker_is_told() -> None:
    polled = worst(email_way(boundary="database", POLL_INTERVAL=seconds(4)))
    assert polled == {**worst(email_way()), "hint": 4, "wake": 4, "recovery": 30 + 10 + 4 + 1}


def test_a_lease_that_is_raised_counts_as_raised() -> None:
    assert worst(email_way(LEASE=seconds(7)))["recovery"] == 15 + 5 + 10 + 1 + 1


def test_inline_makes_one_attempt_and_nobody_recovers() -> None:
    way = email_way(boundary="inline")
    assert (way.worst.tries, way.recovers, way.lost_hint_seconds, way.holds) == (1, False, None, False)
    assert way.worst.all_fit


@pytest.mark.parametrize("recovery", ["off", "observe"])
def test_the_rule_cannot_hold_where_nobody_puts_back(recovery: str) -> None:
    way = email_way(RECOVERY=recovery)
    assert way.worst.all_fit
    assert (way.recovers, way.lost_hint_seconds, way.holds) == (False, None, False)


def test_a_lost_hint_costs_grace_and_sweep_with_a_broker_and_nothing_with_a_poller() -> None:
    assert email_way().lost_hint_seconds == 15 + 10 + 1
    assert email_way(boundary="database").lost_hint_seconds == 0


def test_a_hint_that_is_told_again_too_late_leaves_no_attempt() -> None:
    # Without a dead worker the first attempt is done after 5 seconds, and 870 are useful.
    assert email_way(SWEEP_GRACE=seconds(854)).after_lost_hint() == (1, 0)
    assert email_way(SWEEP_GRACE=seconds(855)).after_lost_hint() == (0, 0)


@pytest.mark.parametrize(
    ("schedule", "wake", "sweep"),
    [
        (None, 1, 10),
        ({}, 1, 10),
        (beat_schedule(wake_seconds=4, sweep_seconds=40), 4, 40),
        ({"ours": {"task": "resetdelivery.sweep", "schedule": seconds(50)}}, 1, 50),
        ({"ours": {"task": "resetdelivery.wake_due", "schedule": schedules.schedule(seconds(3))}}, 3, 10),
        ({"ours": {"task": "resetdelivery.sweep", "schedule": schedules.crontab()}}, 1, 10),
        ({"theirs": {"task": "shop.sweep", "schedule": 5}}, 1, 10),
    ],
)
def test_at_the_broker_rows_are_looked_at_as_often_as_beat_says(
    settings: Any, schedule: Any, wake: float, sweep: float
) -> None:
    settings.CELERY_BEAT_SCHEDULE = schedule
    way = email_way(SWEEP_INTERVAL=seconds(90), POLL_INTERVAL=seconds(80))
    # A publish that takes its time, and a hint and a wait in the queue after the dead worker.
    assert (worst(way)["wake"], worst(way)["recovery"]) == (wake + 1, 30 + sweep + 1 + 1)
    assert way.lost_hint_seconds == 15 + sweep + 1
    polled = email_way(boundary="database", SWEEP_INTERVAL=seconds(90), POLL_INTERVAL=seconds(80))
    assert (worst(polled)["wake"], worst(polled)["recovery"]) == (80, 30 + 90 + 80 + 1)


def test_the_source_of_a_period_is_named(settings: Any) -> None:
    settings.CELERY_BEAT_SCHEDULE = beat_schedule()
    terms = email_way().terms
    assert terms["wake_seconds"].origin == "wake_due in CELERY_BEAT_SCHEDULE; PUBLISH_TIMEOUT"
    assert "LEASE, sweep in CELERY_BEAT_SCHEDULE," in terms["recovery_seconds"].origin
    settings.CELERY_BEAT_SCHEDULE = {}
    assert "sweep, as beat_schedule has it" in email_way().terms["recovery_seconds"].origin
    assert "LEASE, SWEEP_INTERVAL," in email_way(boundary="database").terms["recovery_seconds"].origin


def test_a_provider_that_rests_keeps_a_row_longer_than_its_backoff() -> None:
    short = email_way(CHANNEL={"OUTAGE_PAUSE_CAP": seconds(10)}).worst
    long = email_way(CHANNEL={"OUTAGE_PAUSE_CAP": seconds(50)}).worst
    assert [short.rest_seconds(n) for n in range(1, 7)] == [10, 10, 10, 16, 32, 60]
    assert [long.rest_seconds(n) for n in range(1, 7)] == [50, 50, 50, 50, 50, 60]


def test_a_fallback_begins_after_the_turns_of_the_others() -> None:
    channels: dict[str, Any] = {"email": {"FALLBACK_AFTER": seconds(200)}, "sms": {}}
    way = way_of(load({"CHANNELS": channels}), Channel.SMS, Dispatch.BROKER)
    assert way.fallback is not None
    # Until it is armed by the next wake-up.
    assert (way.fallback.behind, way.fallback.seconds) == ((Channel.EMAIL,), 201)
    assert way.fallback.worst.start_seconds(1) == way.worst.start_seconds(1) + 201
    # 600 seconds, 30 to be of use, and 289 for six attempts.
    assert way.holds_as_fallback
    channels["email"]["FALLBACK_AFTER"] = seconds(281)
    late = way_of(load({"CHANNELS": channels}), Channel.SMS, Dispatch.BROKER)
    assert (late.holds, late.holds_as_fallback) == (True, False)
    assert email_way().fallback is None


@pytest.mark.parametrize(
    ("changes", "asked", "life"),
    [
        ({}, None, (900, "LIFETIME")),
        ({}, 70.0, (70, "the shortest that was asked for")),
        ({"LIFETIME": seconds(60)}, 70.0, (60, "LIFETIME")),  # it was lowered just now
        ({"MIN_LIFETIME": seconds(120)}, 70.0, (120, "MIN_LIFETIME")),
        ({"CHANNEL": {"MAX_LIFETIME": seconds(60)}}, 70.0, (60, "MAX_LIFETIME")),
        ({"CHANNEL": {"MAX_LIFETIME": seconds(60)}, "MIN_LIFETIME": seconds(90)}, None, (60, "MAX_LIFETIME")),
    ],
)
def test_the_shortest_life_is_what_is_bounded_asked_for_or_usual(
    changes: dict[str, Any], asked: float | None, life: tuple[float, str]
) -> None:
    found = email_way(Measured(shortest_life={Channel.EMAIL: asked, Channel.SMS: 1.0}), **changes).life
    assert (found.seconds, found.source) == life


@pytest.mark.parametrize(
    "raw",
    [
        project.RESETDELIVERY,
        test_settings.RESETDELIVERY,
        {},
    ],
    ids=["project", "tests", "defaults"],
)
def test_the_rule_holds_for_the_project_its_tests_and_the_defaults_also_as_a_fallback(
    raw: dict[str, Any],
) -> None:
    settings = load(raw)
    ways = [way_of(settings, channel, settings.dispatch) for channel in settings.channels]
    assert [way.channel for way in ways if not way.holds_as_fallback] == []


@pytest.mark.parametrize("dispatch", ["broker", "database"])
def test_the_rule_holds_for_the_short_lives_of_acceptance_tests(dispatch: str) -> None:
    settings = load(reset_delivery(dispatch=dispatch, smtp_port=1, http_url="http://127.0.0.1:1"))
    ways = [way_of(settings, channel, settings.dispatch) for channel in settings.channels]
    assert [way.channel for way in ways if not way.holds] == []


# What would mend it: 319 seconds are needed, and there are 315.


@pytest.mark.parametrize(
    ("changes", "setting", "fits"),
    [
        ({"LIFETIME": seconds(315)}, "LIFETIME", "319 s or more"),
        ({"LIFETIME": seconds(400), "MIN_LIFETIME": seconds(315)}, "MIN_LIFETIME", "319 s or more"),
        (
            {"CHANNEL": {"MAX_LIFETIME": seconds(315)}},
            "CHANNELS['email']['MAX_LIFETIME']",
            "319 s or more",
        ),
        ({"LIFETIME": seconds(315)}, "CHANNELS['email']['MAX_ATTEMPTS']", "5 or fewer"),
        ({"LIFETIME": seconds(315)}, "CHANNELS['email']['SEND_BUDGET']", "14 s or less"),  # five of them
        # One backoff is 32, and the others are shorter than the pause.
        ({"LIFETIME": seconds(317)}, "CHANNELS['email']['BACKOFF_CAP']", "30 s or less"),
        ({"LIFETIME": seconds(315)}, "CHANNELS['email']['OUTAGE_PAUSE_CAP']", "29 s or less"),
        ({"LIFETIME": seconds(315)}, "LEASE", "26 s or less"),
        ({"LIFETIME": seconds(310), "DISPATCH": "database"}, "SWEEP_INTERVAL", "6 s or less"),
        ({"LIFETIME": seconds(315)}, "MIN_USEFUL", "26 s or less"),
        # Seven times six more: the first hint, after the dead worker, and after five backoffs.
        (
            {"LIFETIME": seconds(314), "DISPATCH": "database", "POLL_INTERVAL": seconds(7)},
            "POLL_INTERVAL",
            "1 s or less",
        ),
        ({"RECOVERY": "off"}, "RECOVERY", "on"),
        ({"DISPATCH": "inline"}, "DISPATCH", "broker or database"),
    ],
)
def test_each_setting_that_would_mend_it_alone_is_named_with_the_nearest_value(
    changes: dict[str, Any], setting: str, fits: str
) -> None:
    settings = settings_with(**changes)
    found = {mend.setting: f"{mend.fits} {mend.bound}".strip() for mend in mends_of(settings)}
    assert found[setting] == fits


def mends_of(settings: Settings, measured: Measured = NOTHING) -> Any:
    return mends(settings, Channel.EMAIL, settings.dispatch, measured)


@pytest.mark.parametrize(
    ("changes", "absent"),
    [
        ({"LIFETIME": seconds(315)}, "SWEEP_INTERVAL"),  # the poller's
        ({"DISPATCH": "inline", "RECOVERY": "off"}, "DISPATCH"),
        ({"DISPATCH": "inline", "LIFETIME": seconds(300)}, "DISPATCH"),
        ({"RECOVERY": "off", "LIFETIME": seconds(300)}, "RECOVERY"),
    ],
)
def test_what_would_not_be_enough_alone_is_not_named(changes: dict[str, Any], absent: str) -> None:
    assert absent not in [mend.setting for mend in mends_of(settings_with(**changes))]


def test_of_two_other_boundaries_the_one_is_named_at_which_it_would_hold() -> None:
    # The broker needs 319 seconds, the poller 314.
    (mend,) = mends_of(settings_with(DISPATCH="inline", LIFETIME=seconds(316)))
    assert (mend.setting, mend.fits) == ("DISPATCH", "database")


def test_nothing_is_named_where_one_change_is_not_enough() -> None:
    settings = settings_with(
        CHANNEL={"MAX_LIFETIME": seconds(70), "MAX_ATTEMPTS": 1}, MAX_LIFETIME=seconds(70)
    )
    assert [mend.setting for mend in mends_of(replace(settings, lifetime=seconds(70)))] == [
        *("LEASE", "MIN_USEFUL")
    ]
    assert mends_of(replace(settings, lifetime=seconds(40))) == ()


def test_a_text_messages_life_is_not_raised_above_what_policy_allows() -> None:
    # Six attempts of so long a time-out would take more than ten minutes.
    sms = {"SEND_BUDGET": seconds(110), "MAX_LIFETIME": seconds(500)}
    settings = load({"CHANNELS": {"sms": sms}})
    found = mends(settings, Channel.SMS, settings.dispatch)
    assert "CHANNELS['sms']['MAX_ATTEMPTS']" in [mend.setting for mend in found]
    assert "CHANNELS['sms']['MAX_LIFETIME']" not in [mend.setting for mend in found]


def test_lives_that_were_asked_for_are_bounded_by_what_requests_get_by_default() -> None:
    asked = Measured(shortest_life={Channel.EMAIL: 60})
    (mend,) = [
        m for m in mends_of(settings_with(LIFETIME=seconds(319)), asked) if m.setting == "MIN_LIFETIME"
    ]
    assert (mend.now, mend.fits) == ("0 s", "319 s")
    beyond = mends_of(settings_with(LIFETIME=seconds(318)), asked)
    assert "MIN_LIFETIME" not in [m.setting for m in beyond]


# From what was measured.


def percentiles(p95: float, p99: float) -> Percentiles:
    return Percentiles(p95=p95, p99=p99, number=100)


def measured_of_email(**parts: Percentiles) -> Measured:
    values: dict[str, Any] = {name: {Channel.EMAIL: part} for name, part in parts.items()}
    return Measured(**values)


def test_what_was_measured_counts_where_it_is_longer_than_what_is_set() -> None:
    slow = measured_of_email(latency=percentiles(3, 4))
    assert (normal(email_way(slow))["latency"], worst(email_way(slow))["latency"]) == (3, 4)
    quick = measured_of_email(latency=percentiles(0.1, 0.2))
    assert (normal(email_way(quick))["latency"], worst(email_way(quick))["latency"]) == (2, 2)


def test_a_failed_attempt_normally_takes_as_long_as_one_that_is_accepted() -> None:
    way = email_way(measured_of_email(latency=percentiles(3, 20)))
    assert (normal(way)["failure"], worst(way)["failure"]) == (3, 20)


def test_a_measured_wait_counts_once_however_its_parts_are_called() -> None:
    # Twelve seconds from due to the attempt: one until a worker knew, four with it, so seven in between.
    way = email_way(measured_of_email(pickup=percentiles(12, 12), claim=percentiles(4, 4)))
    assert [worst(way)[name] for name in ("hint", "queue", "claim")] == [1, 7, 4]
    assert way.terms["queue_seconds"].origin == "measured p99 of 100"
    assert worst(way)["recovery"] == 30 + 10 + 1 + 11


def test_what_is_expected_of_the_queue_includes_the_time_with_a_worker() -> None:
    way = email_way(measured_of_email(pickup=percentiles(0.5, 0.5), claim=percentiles(0.25, 0.25)))
    assert [worst(way)[name] for name in ("queue", "claim")] == [0.75, 0.25]


def test_waits_that_were_measured_count_for_no_other_boundary() -> None:
    slow = measured_of_email(pickup=percentiles(50, 60), claim=percentiles(4, 5))
    assert worst(email_way(slow, boundary="database")) == worst(email_way(boundary="database"))


@pytest.mark.django_db
def test_nothing_is_measured_where_nothing_happened() -> None:
    found = measure(DAY, [Channel.EMAIL], using="default")
    assert found.since is not None
    assert replace(found, since=None) == Measured(
        shortest_life={Channel.EMAIL: None},
        waited={Channel.EMAIL: 0},
        untried={Channel.EMAIL: Untried(number=0, of=0)},
        pickup={Channel.EMAIL: None},
        claim={Channel.EMAIL: None},
        latency={Channel.EMAIL: None},
    )


@pytest.mark.django_db
def test_waits_and_answers_are_measured_from_the_minutes_of_the_window() -> None:
    counts.attempts(delays=[0.05] * 90 + [4.0] * 10, ago=1)
    counts.attempts(OutcomeKind.TRANSIENT, delays=[200.0] * 100, ago=3000)
    counts.attempts(delays=[200.0], channel=Channel.SMS)
    OutcomeMinute.objects.filter(outcome="accepted").update(duration_counts=counted([0.2], DURATION_SECONDS))
    found = measure(DAY, [Channel.EMAIL], using="default")
    pickup, latency = found.pickup[Channel.EMAIL], found.latency[Channel.EMAIL]
    assert pickup is not None
    assert latency is not None
    # Half and nine tenths of the way from 2.5 to 5 seconds.
    assert [pickup.p95, pickup.p99, pickup.number] == pytest.approx([3.75, 4.75, 100])
    assert 0.1 < latency.p99 <= 0.25


@pytest.mark.django_db
def test_failed_attempts_say_nothing_of_how_long_an_acceptance_takes() -> None:
    counts.attempts(OutcomeKind.TRANSIENT, duration_counts=counted([14.0], DURATION_SECONDS))
    assert measure(DAY, [Channel.EMAIL], using="default").latency == {Channel.EMAIL: None}


@pytest.mark.django_db
def test_waits_above_the_last_bucket_count_as_its_bound() -> None:
    counts.attempts(delays=[5000.0])
    pickup = measure(DAY, [Channel.EMAIL], using="default").pickup[Channel.EMAIL]
    assert pickup is not None
    assert pickup.p99 == 900


@pytest.mark.django_db
def test_time_with_a_worker_is_measured_from_the_claim_to_the_attempt() -> None:
    (delivery,) = store()
    now = database_now(connection)
    for number in range(1, 101):
        attempt_row(delivery, number, started_at=now, claimed_at=now - seconds(number / 10))
    attempt_row(delivery, 101, started_at=now - 2 * DAY, claimed_at=now - 3 * DAY)
    attempt_row(delivery, 102, started_at=now, claimed_at=None)
    claim = measure(DAY, [Channel.EMAIL], using="default").claim[Channel.EMAIL]
    assert claim is not None
    assert [claim.p95, claim.p99, claim.number] == pytest.approx([9.5, 9.9, 100])


def attempt_row(delivery: Delivery, number: int, **fields: Any) -> None:
    Attempt.objects.create(
        delivery=delivery, number=number, token=1, queue_delay_seconds=0, remaining_seconds=0, **fields
    )


@pytest.mark.django_db
def test_admissions_and_the_shortest_life_are_measured_from_resets_of_the_window() -> None:
    store(life=600)
    store(life=70)
    store(life=30, channel=Channel.SMS)
    store(life=5, overdue=DAY.total_seconds() + 120)  # asked for before the window
    ResetIntent.objects.filter(pk=store(life=20)[0].intent_id).update(kind="security_notice")
    ResetIntent.objects.update(admission_seconds=0.25)
    found = measure(DAY, [Channel.EMAIL], using="default")
    assert found.admission is not None
    assert (found.admission.p99, found.admission.number) == (0.25, 4)
    assert found.shortest_life == {Channel.EMAIL: 71}  # it was stored a second ago


@pytest.mark.django_db
def test_deliveries_that_waited_for_another_channel_are_counted() -> None:
    now = database_now(connection)
    store(2, channel=Channel.SMS, arm_at=now)
    store(channel=Channel.SMS)
    store(channel=Channel.SMS, arm_at=now, overdue=DAY.total_seconds() + 120)
    assert measure(DAY, [Channel.SMS], using="default").waited == {Channel.SMS: 2}


@pytest.mark.django_db
def test_what_expired_before_an_attempt_is_counted_beside_what_was_due() -> None:
    now = database_now(connection)
    ended: dict[str, Any] = {"state": "expired", "finished_at": now}
    store(3, **ended)
    store(**ended, authority="shadow")
    store(**{**ended, "finished_at": now - 2 * DAY})
    store(**ended, arm_at=now)  # its turn never came
    store(**ended, arm_at=now, arm_reason="time_up")
    tried = store(**ended) + store(state="accepted", finished_at=now)
    for delivery in tried:
        attempt_row(delivery, 1, started_at=now)
    store(state="cancelled", finished_at=now)
    found = measure(DAY, [Channel.EMAIL], using="default").untried
    assert found == {Channel.EMAIL: Untried(number=4, of=6)}


@pytest.mark.parametrize(("number", "too_many"), [(0, False), (1, False), (2, True)])
def test_one_in_a_hundred_may_expire_before_an_attempt(number: int, too_many: bool) -> None:
    assert Untried(number=number, of=100).is_too_many is too_many


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("asked", [{"lifetime": seconds(119)}, {"expires_at": 119}])
def test_a_request_for_less_than_the_shortest_life_is_refused(
    change: Change, account: Any, asked: dict[str, Any]
) -> None:
    change(MIN_LIFETIME=seconds(120))
    if "expires_at" in asked:
        asked = {"expires_at": database_now(connection) + seconds(asked["expires_at"])}
    with pytest.raises(InvalidExpiry, match=r"would live 0:01:5[89].*; 0:02:00 is the shortest allowed"):
        request_reset(account_ref=str(account.pk), channels=["email"], **asked)
    assert not ResetIntent.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_request_for_just_the_shortest_life_is_admitted(change: Change, account: Any) -> None:
    change(MIN_LIFETIME=seconds(120))
    request_reset(account_ref=str(account.pk), channels=["email"], lifetime=seconds(120))
    assert measure(DAY, [Channel.EMAIL], using="default").shortest_life == {Channel.EMAIL: 120}
