from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from notifications.channels import Channel
from notifications.outcome import OutcomeKind
from resetdelivery.clock import database_now
from resetdelivery.domain.health import WINDOWS, ChannelNumbers, HealthReason, QueueDelay, Verdict
from resetdelivery.domain.telemetry import CountedEvent, Job
from resetdelivery.models import ChannelControl, EventMinute, OutcomeMinute, RollupState
from resetdelivery.telemetry.health import DeliveryHealth, delivery_health, told
from tests.brokers import Queue, Stalled
from tests.counted import attempts, events, minute, succeeded
from tests.integration.conftest import Settings, UseBroker
from tests.integration.test_indexes import EXPLAIN, whole_scans
from tests.moved_clock import moved_clock
from tests.steps import pause, seconds, store

pytestmark = pytest.mark.django_db

__all__ = ["moved_clock"]

Execute = Callable[[str, Any, bool, Any], Any]
#: Statements that take many seconds, unless somebody ends them.
LONG = {
    "postgresql": "SELECT pg_sleep(9)",
    "sqlite": "WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s LIMIT 30000000) "
    "SELECT MAX(i) FROM s WHERE i < 0",
}


@pytest.fixture
def healthy(db: None) -> None:
    """The sweep and the roll-up have just run."""
    succeeded(Job.SWEEP)
    succeeded(Job.ROLL_UP)


def look(window: str = "5m") -> DeliveryHealth:
    return delivery_health(WINDOWS[window])


def numbers(window: str = "5m", channel: Channel = Channel.EMAIL) -> ChannelNumbers:
    return next(one.numbers for one in look(window).channels if one.numbers.channel is channel)


@pytest.mark.usefixtures("healthy")
def test_without_any_work_all_is_well() -> None:
    found = look()
    assert (found.verdict, found.reasons) == (Verdict.OK, ())
    assert [(one.verdict, one.reasons) for one in found.channels] == [(Verdict.OK, ())] * 2


def test_every_outcome_is_told_though_nothing_had_it() -> None:
    attempts(OutcomeKind.ACCEPTED, [1.0, 1.0])
    assert numbers().attempts == {**dict.fromkeys(OutcomeKind, 0), OutcomeKind.ACCEPTED: 2}


def test_attempts_are_added_up_over_minutes_versions_and_kept_rows() -> None:
    attempts(OutcomeKind.ACCEPTED, [1.0] * 3)
    attempts(OutcomeKind.ACCEPTED, [1.0] * 5, template_version="2")
    attempts(OutcomeKind.ACCEPTED, [1.0] * 7, kept=True)
    attempts(OutcomeKind.ACCEPTED, [1.0] * 11, ago=2)
    attempts(OutcomeKind.TRANSIENT, [1.0] * 13, ago=2)
    attempts(OutcomeKind.ACCEPTED, [1.0] * 17, channel=Channel.SMS)
    assert numbers().attempts[OutcomeKind.ACCEPTED] == 3 + 5 + 7 + 11
    assert numbers().attempts[OutcomeKind.TRANSIENT] == 13
    assert numbers(channel=Channel.SMS).attempts[OutcomeKind.ACCEPTED] == 17


@pytest.mark.parametrize(("window", "length"), [("1m", 1), ("5m", 5), ("15m", 15), ("1h", 60)])
def test_a_window_takes_in_the_minute_in_which_it_began_and_none_before(window: str, length: int) -> None:
    at = {ago: minute(ago) for ago in (length - 1, length + 2)}
    for ago, number in ((length - 1, 1), (length + 2, 10)):
        attempts(OutcomeKind.ACCEPTED, [1.0] * number, minute=at[ago])
        EventMinute.objects.create(minute=at[ago], event="admitted", channel="email", count=number)
    found = numbers(window)
    assert (found.attempts[OutcomeKind.ACCEPTED], found.admitted) == (1, 1)


def test_it_is_told_from_when_to_when_was_counted() -> None:
    succeeded(Job.ROLL_UP, 4)
    earliest = minute(5)
    found = look("5m")
    assert earliest <= found.counted_from <= minute(5)
    assert found.counted_until is not None
    assert found.rollup_age_seconds is not None
    assert 4 <= found.rollup_age_seconds < 60
    until_ago = (minute(0) + dt.timedelta(minutes=1) - found.counted_until).total_seconds()
    assert 4 <= until_ago < 120


def test_what_was_last_counted_before_the_window_says_nothing_of_it() -> None:
    succeeded(Job.ROLL_UP, 600)
    assert look("1m").counted_until is None
    assert look("15m").counted_until is not None


def test_events_are_added_up_over_labels_minutes_and_kept_rows() -> None:
    for label, ago, kept in (("a", 0, False), ("b", 0, False), ("a", 1, False), ("a", 0, True)):
        events(
            {
                CountedEvent.ADMITTED: 1,
                CountedEvent.FINISHED: 2,
                CountedEvent.EXPIRED_USEFULLY: 3,
                CountedEvent.LEASE_RECOVERED: 4,
                CountedEvent.RECEIPT: 100,
            },
            label=label,
            ago=ago,
            kept=kept,
        )
    events({CountedEvent.ADMITTED: 1000}, channel=Channel.SMS)
    found = numbers()
    told = (found.admitted, found.finished, found.expired_usefully, found.lease_recoveries)
    assert told == (4, 8, 12, 16)


def test_the_queue_delay_is_that_of_attempts_of_every_outcome() -> None:
    attempts(OutcomeKind.ACCEPTED, [0.05] * 50)
    attempts(OutcomeKind.TRANSIENT, [200.0] * 50, ago=1)
    found = numbers().queue_delay
    assert found.p50_seconds == pytest.approx(0.1)
    assert found.p95_seconds == pytest.approx(120 + (300 - 120) * 0.9)
    assert found.beyond == 0


def test_a_percentile_above_the_last_bound_is_not_made_up() -> None:
    attempts(OutcomeKind.ACCEPTED, [0.05] * 90)
    attempts(OutcomeKind.LATE, [4000.0] * 10)
    found = numbers().queue_delay
    assert (found.p95_seconds, found.p99_seconds, found.beyond) == (None, None, 10)
    assert found.p50_seconds is not None


def test_without_attempts_there_is_no_percentile() -> None:
    assert numbers().queue_delay == QueueDelay()


def test_life_left_is_that_of_accepted_attempts_alone() -> None:
    attempts(OutcomeKind.ACCEPTED, [1.0] * 10, left=[0.95] * 8 + [0.25, 0.01])
    attempts(OutcomeKind.TRANSIENT, [1.0] * 10, left=[0.01] * 10)
    found = numbers().life_left_at_acceptance
    assert found.median == pytest.approx(0.9 + 0.1 * 3 / 8)
    assert found.quarter_or_less == 2


def test_a_minute_that_knows_its_count_alone_is_no_obstacle() -> None:
    OutcomeMinute.objects.create(
        minute=minute(), channel="email", outcome="accepted", template_version="1", attempts=2
    )
    found = numbers()
    assert (found.accepted, found.queue_delay, found.life_left_at_acceptance.median) == (
        2,
        QueueDelay(),
        None,
    )


def test_the_mode_of_a_channel_is_told() -> None:
    ChannelControl.objects.update_or_create(channel="email", defaults={"mode": "shadow"})
    assert (numbers().mode, numbers(channel=Channel.SMS).mode) == ("shadow", "live")


@pytest.mark.usefixtures("healthy")
def test_a_pause_by_an_operator_degrades_its_channel_and_so_the_whole() -> None:
    pause(Channel.SMS)
    found = look()
    assert found.verdict is Verdict.DEGRADED
    assert {one.numbers.channel.value: one.reasons for one in found.channels} == {
        "email": (),
        "sms": (HealthReason.PAUSED_BY_OPERATOR,),
    }


@pytest.mark.usefixtures("healthy")
@pytest.mark.parametrize("fields", [{"paused": True}, {"paused": False, "probing": True}])
def test_a_channel_that_paused_itself_fails_until_its_probe_went_through(fields: dict[str, bool]) -> None:
    pause(Channel.EMAIL, pause_reason="misconfigured", **fields)
    found = look().channels[0]
    assert (found.verdict, found.reasons) == (Verdict.FAILING, (HealthReason.PAUSED_MISCONFIGURED,))


@pytest.mark.usefixtures("healthy")
@pytest.mark.parametrize(
    ("channel", "overdue", "reasons"),
    [
        (Channel.EMAIL, 30, ()),
        (Channel.EMAIL, 100, (HealthReason.DUE_LATE,)),
        # A quarter of fifteen minutes, less what is of no use; an SMS lives for ten at most.
        (Channel.EMAIL, 200, (HealthReason.DUE_LATE,)),
        (Channel.SMS, 200, (HealthReason.DUE_TOO_LATE,)),
        (Channel.EMAIL, 300, (HealthReason.DUE_TOO_LATE,)),
    ],
)
def test_how_long_a_delivery_may_be_due_follows_from_the_channels_lifetime(
    change: Settings, channel: Channel, overdue: float, reasons: tuple[HealthReason, ...]
) -> None:
    change(LIFETIME=seconds(900))
    store(channel=channel, overdue=overdue)
    assert [one.reasons for one in look().channels if one.numbers.channel is channel] == [reasons]


@pytest.mark.usefixtures("healthy")
def test_resets_that_are_given_up_fail_their_channel() -> None:
    events({CountedEvent.FINISHED: 30, CountedEvent.EXPIRED_USEFULLY: 12})
    found = look()
    assert (found.verdict, found.channels[0].reasons) == (Verdict.FAILING, (HealthReason.EXPIRING_MANY,))


@pytest.mark.parametrize(
    ("dispatch", "recovery", "swept_ago", "reasons"),
    [
        ("database", "on", 5, []),
        ("database", "on", 60, [HealthReason.SWEEP_LATE]),
        ("database", "on", 400, [HealthReason.SWEEP_MISSING]),
        ("database", "on", None, [HealthReason.SWEEP_MISSING]),
        ("database", "off", None, [HealthReason.RECOVERY_OFF]),
        ("database", "observe", 5, [HealthReason.RECOVERY_OBSERVES]),
        ("inline", "on", None, []),
    ],
)
def test_recovery_that_does_not_happen_is_a_reason(
    change: Settings, dispatch: str, recovery: str, swept_ago: float | None, reasons: list[HealthReason]
) -> None:
    change(DISPATCH=dispatch, RECOVERY=recovery)
    succeeded(Job.ROLL_UP)
    if swept_ago is not None:
        succeeded(Job.SWEEP, swept_ago)
    found = look()
    assert list(found.reasons) == reasons
    assert (found.sweep_age_seconds is None) is (swept_ago is None)


@pytest.mark.parametrize("counted_ago", [None, 130])
def test_counts_that_nobody_brings_up_to_date_are_a_reason(counted_ago: float | None) -> None:
    succeeded(Job.SWEEP)
    if counted_ago is not None:
        succeeded(Job.ROLL_UP, counted_ago)
    assert look().reasons == (HealthReason.COUNTS_STALE,)


@pytest.mark.usefixtures("healthy")
@pytest.mark.parametrize(
    ("close_after", "closed_ago", "reasons"),
    [
        (900, 4400, ()),
        (900, 4600, (HealthReason.COUNTS_STALE,)),
        (1200, 4600, ()),
    ],
)
def test_a_rollup_that_closes_nothing_any_more_is_a_reason(
    change: Settings, close_after: float, closed_ago: float, reasons: tuple[HealthReason, ...]
) -> None:
    change(ROLLUP_CLOSE_AFTER=seconds(close_after))
    RollupState.objects.update_or_create(
        id=1, defaults={"closed_before": database_now(connection) - seconds(closed_ago)}
    )
    assert look().reasons == reasons


def test_without_a_broker_nobody_asks_for_one() -> None:
    assert look().broker_reachable is None


@pytest.mark.usefixtures("healthy")
def test_a_broker_that_is_away_degrades(queue: Queue) -> None:
    assert (look().broker_reachable, look().verdict) == (True, Verdict.OK)
    queue.is_up = False
    assert (look().broker_reachable, look().reasons) == (False, (HealthReason.BROKER_AWAY,))
    assert look().verdict is Verdict.DEGRADED


@pytest.mark.usefixtures("healthy", "live")
def test_a_real_broker_is_reachable() -> None:
    assert look().broker_reachable is True


@pytest.mark.usefixtures("healthy")
def test_a_broker_that_never_answers_is_asked_once_and_then_left_alone(use_broker: UseBroker) -> None:
    stalled = Stalled()
    try:
        use_broker(stalled.url)
        assert look().broker_reachable is False
        asked = stalled.connections
        assert look().broker_reachable is False
        assert stalled.connections == asked > 0
    finally:
        stalled.close()


def test_two_statements_read_the_tables() -> None:
    store(3)
    attempts()
    with CaptureQueriesContext(connection) as captured:
        look("1h")
    assert len([query for query in captured if "FROM" in query["sql"]]) == 2


def test_no_finished_delivery_is_read() -> None:
    store(3)
    with whole_scans() as found:
        look()
    assert found == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("table", [OutcomeMinute._meta.db_table, EventMinute._meta.db_table])
def test_minutes_are_found_by_their_index(table: str) -> None:
    last = minute()
    many = [last - dt.timedelta(minutes=ago) for ago in range(3000)]
    OutcomeMinute.objects.bulk_create(
        OutcomeMinute(minute=at, channel="email", outcome="accepted", template_version="1") for at in many
    )
    EventMinute.objects.bulk_create(
        EventMinute(minute=at, event="admitted", channel="email", count=1) for at in many
    )
    with connection.cursor() as cursor:
        # On SQLite what it learns would outlast the test.
        if connection.vendor == "postgresql":
            cursor.execute("ANALYZE")
    with CaptureQueriesContext(connection) as captured:
        look("1h")
    (sql,) = (query["sql"] for query in captured if f"FROM {table}" in query["sql"])
    with connection.cursor() as cursor:
        cursor.execute(EXPLAIN[connection.vendor].replace("(FORMAT JSON) ", "") + sql)
        plan = [str(row[-1]) for row in cursor.fetchall()]
    assert any(table.removesuffix("minute") in line and "Index" in line.title() for line in plan)
    assert not any(f"Seq Scan on {table}" in line or f"SCAN {table}" in line for line in plan)


def test_what_is_told_has_one_size_and_names_no_row() -> None:
    def shape(found: DeliveryHealth) -> list[object]:
        return [sorted(one.numbers.attempts) for one in found.channels]

    before = shape(look())
    rows = store(20)
    for row in rows:
        attempts(OutcomeKind.ACCEPTED, [1.0], template_version=str(row.pk))
    found = look()
    assert shape(found) == before
    names = [str(row.reference) for row in rows] + [row.intent.account_ref for row in rows]
    assert [name for name in names if name in repr(told(found))] == []


@pytest.mark.django_db(transaction=True)
def test_a_database_that_takes_too_long_is_not_waited_for(change: Settings) -> None:
    change(SCRAPE_TIMEOUT=seconds(0.05))

    def slow_down(execute: Execute, sql: str, params: Any, many: bool, context: Any) -> Any:
        if OutcomeMinute._meta.db_table in sql:
            return execute(LONG[connection.vendor], None, many, context)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(slow_down), pytest.raises(OperationalError):
        look()
