"""What a round of purging takes, what it leaves, and what stops it."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import Model

from notifications.channels import Channel
from notifications.outcome import Outcome, OutcomeKind
from resetdelivery import upkeep
from resetdelivery.clock import database_now
from resetdelivery.domain.retention import PurgeStep
from resetdelivery.exceptions import StepFailed
from resetdelivery.models import (
    Attempt,
    AuditEntry,
    Delivery,
    EventMinute,
    IdempotencyKey,
    OutcomeMinute,
    ResetIntent,
)
from resetdelivery.receipts import RecordedReceipt
from resetdelivery.retention import Purged, purge
from resetdelivery.retention.purge import STEPS
from resetdelivery.retention.rounds import Round
from resetdelivery.services import request_reset
from resetdelivery.telemetry.rollup import roll_up
from resetdelivery.testing import deliver_now
from tests.integration.conftest import Settings
from tests.later_words import hear
from tests.moved_clock import Clock, moved_clock
from tests.steps import ACCEPTED, BUSY, CUT, answer, record, seconds, store, take

pytestmark = pytest.mark.django_db

__all__ = ["moved_clock"]

MINUTE = dt.timedelta(minutes=1)
HOUR = dt.timedelta(hours=1)
DAY = dt.timedelta(days=1)
NAMED = Outcome(kind=OutcomeKind.ACCEPTED, provider_reference="SM123")
TRAIL: tuple[type[Model], ...] = (ResetIntent, Delivery, Attempt)


@pytest.fixture
def later(moved_clock: Clock) -> Callable[[dt.timedelta], Purged]:
    """Lets time pass, and then rolls up and purges as in production."""

    def pass_by(time: dt.timedelta) -> Purged:
        moved_clock.pass_by(time)
        while roll_up().behind:
            pass
        return purge()

    return pass_by


Later = Callable[[dt.timedelta], Purged]


def send(*channels: str, ref: str = "7", **options: Any) -> ResetIntent:
    """A reset that is asked for and delivered."""
    admission = request_reset(account_ref=ref, channels=list(channels) or ["email"], **options)
    deliver_now()
    return ResetIntent.objects.get(reference=admission.reference)


def sent(outcome: Outcome = ACCEPTED, channel: Channel = Channel.EMAIL) -> Attempt:
    """The attempt of a reset that is submitted, and closed by it."""
    (delivery,) = store(channel=channel)
    answer(record(take(channel)), outcome)
    return Attempt.objects.get(delivery=delivery)


def numbers(*models: type[Model]) -> list[int]:
    return [model._default_manager.count() for model in models or TRAIL]


def test_an_account_is_scrubbed_from_an_intent_a_day_after_it_closed(later: Later) -> None:
    sent()
    later(DAY - HOUR)
    assert ResetIntent.objects.get().account_ref
    later(HOUR + seconds(5))
    intent = ResetIntent.objects.get()
    assert (intent.account_ref, intent.account_digest) == ("", "")
    assert intent.scrubbed_at is not None


def test_what_is_open_keeps_everything_however_old(later: Later, change: Settings) -> None:
    change(KEEP_ACCOUNT_REFS=seconds(0), KEEP_INTENTS=seconds(0), KEEP_ATTEMPTS=seconds(0))
    store(life=90 * 86400)
    answer(record(take()), BUSY)
    later(60 * DAY)
    assert ResetIntent.objects.get().account_ref
    assert numbers() == [1, 1, 1]


def test_the_trail_goes_before_the_intent(later: Later) -> None:
    sent()
    later(8 * DAY)
    assert numbers() == [1, 1, 0]
    later(23 * DAY)
    assert numbers() == [0, 0, 0]


def test_an_older_attempt_stays_as_long_as_the_newest_of_its_delivery(
    later: Later, change: Settings, moved_clock: Clock
) -> None:
    change(KEEP_ATTEMPTS=2 * DAY)
    store(life=3 * 86400)
    answer(record(take()), BUSY)
    moved_clock.pass_by(DAY)
    answer(record(take()))
    later(DAY + HOUR)
    assert numbers(Attempt) == [2]
    later(DAY)
    assert numbers(Attempt) == [0]


def test_a_key_goes_a_day_after_it_was_stored(later: Later) -> None:
    send()
    later(DAY - HOUR)
    assert numbers(IdempotencyKey) == [1]
    later(HOUR + seconds(5))
    assert numbers(IdempotencyKey) == [0]


def test_a_key_stays_as_long_as_its_intent_is_open(later: Later, change: Settings) -> None:
    change(MAX_LIFETIME=5 * DAY)
    options: dict[str, Any] = {"account_ref": "7", "channels": ["email"], "lifetime": 4 * DAY}
    first = request_reset(**options, idempotency_key="key")
    Delivery.objects.update(expires_at=first.expires_at)
    later(3 * DAY)
    again = request_reset(**options, idempotency_key="key")
    assert (again.replayed, again.reference) == (True, first.reference)


def test_an_intent_stays_as_long_as_a_key_leads_to_it(later: Later, change: Settings) -> None:
    change(KEEP_INTENTS=seconds(0))
    send()
    later(DAY - HOUR)
    assert numbers() == [1, 1, 0]
    later(HOUR + seconds(5))
    assert numbers() == [0, 0, 0]


def test_a_decoy_goes_once_its_keys_have_gone(later: Later, change: Settings) -> None:
    change(KEEP_DECOYS=seconds(0))
    request_reset(submitted="nobody@example.com", channels=["email"])
    deliver_now()
    later(DAY - HOUR)
    assert ResetIntent.objects.get().account_ref.startswith("~")
    later(HOUR + seconds(5))
    assert numbers() == [0, 0, 0]


def test_a_reference_that_only_looks_like_a_decoys_is_no_decoy(later: Later) -> None:
    send(ref="~7")
    later(2 * DAY)
    assert ResetIntent.objects.get().account_ref == ""


def test_a_repeated_request_of_nobodys_is_answered_like_everybody_elses(later: Later, account: Any) -> None:
    def ask(submitted: str) -> Any:
        return request_reset(submitted=submitted, channels=["email"], idempotency_key=submitted)

    first = {who: ask(who).reference for who in (account.email, "nobody@example.com")}
    deliver_now()
    for time, same in ((DAY - HOUR, True), (2 * HOUR, False)):
        later(time)
        assert [ask(who).reference == reference for who, reference in first.items()] == [same, same]


@pytest.mark.parametrize(
    ("channel", "heard", "age", "kept"),
    [
        (Channel.SMS, "", 0, True),
        (Channel.SMS, "progress", 0, True),
        (Channel.SMS, "delivered", 0, False),
        (Channel.SMS, "failed", 0, False),
        (Channel.SMS, "", 23, True),
        (Channel.SMS, "", 25, False),
        # It gives no receipts.
        (Channel.EMAIL, "", 0, False),
    ],
)
def test_a_providers_name_for_a_message_goes_as_soon_as_its_use_ends(
    later: Later, change: Settings, channel: Channel, heard: str, age: int, kept: bool
) -> None:
    sms = {"TRANSPORT": "tests.transports.sms", "GIVES_RECEIPTS": True}
    change(CHANNELS={"email": {"TRANSPORT": "tests.transports.email"}, "sms": sms})
    attempt = sent(NAMED, channel)
    if heard:
        hear(attempt, heard)
    later(age * HOUR + seconds(1))
    attempt.refresh_from_db()
    assert attempt.provider_reference == ("SM123" if kept else "")


def test_a_name_that_a_worker_writes_after_its_lease_goes_with_the_next_round(
    later: Later, moved_clock: Clock
) -> None:
    store()
    marked = record(take())
    moved_clock.pass_by(dt.timedelta(minutes=2))
    upkeep.sweep()
    later(seconds(0))
    answer(marked, NAMED)
    assert Attempt.objects.get().provider_reference == "SM123"
    later(seconds(1))
    assert Attempt.objects.get().provider_reference == ""


def test_a_receipt_for_what_is_gone_is_of_nobody(later: Later) -> None:
    attempt = sent()
    later(8 * DAY)
    assert hear(attempt, "delivered") is RecordedReceipt.UNKNOWN


def test_nothing_goes_that_is_not_counted_and_the_round_says_so(
    moved_clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    sent()
    request_reset(submitted="nobody@example.com", channels=["email"])
    deliver_now()
    moved_clock.pass_by(40 * DAY)
    before = numbers()
    purged = purge()
    assert numbers() == before
    assert purged.waits_for_rollup
    assert "purge_waits_for_rollup" in caplog.text
    assert not ResetIntent.objects.exclude(account_ref__startswith="~").get().account_ref


def test_it_goes_once_the_rollup_is_back(later: Later, moved_clock: Clock) -> None:
    sent()
    moved_clock.pass_by(40 * DAY)
    assert purge().waits_for_rollup
    assert not later(seconds(0)).waits_for_rollup
    assert numbers() == [0, 0, 0]


def test_an_attempt_that_runs_keeps_what_came_after_it(later: Later, change: Settings) -> None:
    """Its minute cannot be closed, and no later one."""
    change(KEEP_ATTEMPTS=seconds(0))
    store(life=20 * 86400)
    record(take())
    finished = sent()
    assert later(9 * DAY).waits_for_rollup
    assert Attempt.objects.filter(pk=finished.pk).exists()


def test_a_receipt_that_just_came_keeps_its_attempt_until_it_is_counted(later: Later) -> None:
    attempt = sent()
    later(7 * DAY - MINUTE)
    hear(attempt, "delivered")
    later(2 * MINUTE)
    assert numbers(Attempt) == [1]
    later(HOUR)
    assert numbers(Attempt) == [0]


def test_minutes_go_after_their_time(later: Later, change: Settings) -> None:
    change(KEEP_MINUTES=2 * DAY)
    sent()
    later(DAY)
    assert min(numbers(OutcomeMinute, EventMinute)) > 0
    later(DAY + HOUR)
    assert numbers(OutcomeMinute, EventMinute) == [0, 0]


def test_the_audit_trail_goes_after_two_years(later: Later) -> None:
    AuditEntry.objects.create(at=database_now(connection), who="anna", action="paused", target="email")
    later(729 * DAY)
    assert numbers(AuditEntry) == [1]
    later(2 * DAY)
    assert numbers(AuditEntry) == [0]


def test_a_role_that_may_not_delete_the_audit_trail_passes_over_it(
    postgres_only: None, moved_clock: Clock
) -> None:
    AuditEntry.objects.create(at=database_now(connection), who="anna", action="paused", target="email")
    moved_clock.pass_by(800 * DAY)
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE retention_test_purger")
        cursor.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO retention_test_purger")
        cursor.execute(f"REVOKE DELETE ON {AuditEntry._meta.db_table} FROM retention_test_purger")
        cursor.execute("SET LOCAL ROLE retention_test_purger")
        purged = purge()
        cursor.execute("RESET ROLE")
    assert purged.rows[PurgeStep.AUDIT_ENTRIES] == 0
    assert numbers(AuditEntry) == [1]


def test_each_batch_is_told_as_it_is_done(change: Settings, later: Later, moved_clock: Clock) -> None:
    change(PURGE_BATCH=2)
    for _ in range(5):
        sent()
    moved_clock.pass_by(2 * DAY)
    told: list[tuple[PurgeStep, int]] = []
    purge(progress=lambda step, rows: told.append((step, rows)))
    assert told == [(PurgeStep.ACCOUNT_REFS, 2), (PurgeStep.ACCOUNT_REFS, 2), (PurgeStep.ACCOUNT_REFS, 1)]


@pytest.mark.django_db(transaction=True)
def test_each_batch_is_committed_before_the_next(change: Settings, moved_clock: Clock) -> None:
    change(PURGE_BATCH=2)
    for _ in range(4):
        sent()
    moved_clock.pass_by(2 * DAY)
    open_transactions: list[bool] = []
    purge(progress=lambda *_: open_transactions.append(transaction.get_connection().in_atomic_block))
    assert open_transactions == [False, False]


def test_a_row_that_may_not_go_yet_is_no_wall(change: Settings, later: Later, moved_clock: Clock) -> None:
    """Two of the oldest wait for a key; with batches of one, the third is taken all the same."""
    change(PURGE_BATCH=1, KEEP_INTENTS=HOUR)
    for ref in ("1", "2"):
        send(ref=ref)
    store()
    answer(record(take()))
    later(2 * HOUR)
    assert numbers(IdempotencyKey, ResetIntent) == [2, 2]


def test_a_step_that_fails_stops_no_other_and_tells_no_text(
    later: Later, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: Round) -> Iterator[int]:
        raise ValueError("anna@shop.example")

    sent()
    monkeypatch.setitem(STEPS, PurgeStep.ATTEMPTS, broken)
    with pytest.raises(StepFailed) as failed:
        later(31 * DAY)
    assert numbers() == [0, 0, 0]
    assert "anna" not in caplog.text + str(failed.value) + repr(failed.value.__context__)
    assert "'step': 'attempts'" in caplog.text


def test_a_step_that_fails_halfway_keeps_what_it_had_done(
    later: Later, change: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(PURGE_BATCH=1)
    whole = STEPS[PurgeStep.ATTEMPTS]

    def breaks(round_: Round) -> Iterator[int]:
        yield next(whole(round_))
        raise ValueError

    for _ in range(2):
        sent()
    monkeypatch.setitem(STEPS, PurgeStep.ATTEMPTS, breaks)
    with pytest.raises(StepFailed):
        later(8 * DAY)
    assert numbers(Attempt) == [1]


def test_a_needless_round_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    sent(CUT)
    caplog.clear()
    purge()
    assert "purge" not in caplog.text
