"""The purge beside everything else: it waits for nobody, nothing is lost, nothing goes uncounted."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from django.db import connection
from django.db.models import Model, Sum

from notifications.channels import Channel
from notifications.outcome import Outcome, OutcomeKind
from resetdelivery import upkeep
from resetdelivery.clock import now_sql
from resetdelivery.domain.retention import PurgeStep
from resetdelivery.models import (
    Attempt,
    Delivery,
    EventMinute,
    EventTotal,
    IdempotencyKey,
    OutcomeMinute,
    OutcomeTotal,
    ResetIntent,
)
from resetdelivery.receipts import RecordedReceipt
from resetdelivery.retention import purge
from resetdelivery.services import request_reset
from resetdelivery.telemetry.rollup import closed_before
from resetdelivery.testing import deliver_now
from tests.interleavings.racing import alone, holding, together
from tests.later_words import hear
from tests.moved_clock import Clock, moved_clock
from tests.steps import answer, record, store, take

__all__ = ["moved_clock"]

MINUTE = dt.timedelta(minutes=1)
DAY = dt.timedelta(days=1)
NAMED = Outcome(kind=OutcomeKind.ACCEPTED, provider_reference="SM123")
INTENT = ResetIntent._meta.db_table
ATTEMPT = Attempt._meta.db_table
#: Everything goes as soon as it is counted, and it is counted soon.
AT_ONCE = {
    "ROLLUP_CLOSE_AFTER": MINUTE,
    "PURGE_BATCH": 3,
    **dict.fromkeys(
        [
            *("KEEP_ACCOUNT_REFS", "KEEP_PROVIDER_REFERENCES", "KEEP_IDEMPOTENCY_KEYS"),
            *("KEEP_ATTEMPTS", "KEEP_INTENTS", "KEEP_DECOYS"),
        ],
        dt.timedelta(0),
    ),
}
ROUNDS = 6
RESETS = 8


def sent(number: int = 1) -> list[Delivery]:
    """Resets that are submitted, and closed by it."""
    rows = store(number)
    answer(record(take()), NAMED)
    return rows


def let_a_month_pass(clock: Clock) -> None:
    """Everything is old then, and counted."""
    clock.pass_by(31 * DAY)
    upkeep.roll_up()


def test_two_purges_at_once_take_each_row_once(moved_clock: Clock, settings: Any) -> None:
    settings.RESETDELIVERY = {**settings.RESETDELIVERY, "PURGE_BATCH": 3}
    sent(40)
    let_a_month_pass(moved_clock)
    purged = [*together(purge, purge, purge), purge()]
    assert sum(one.rows[PurgeStep.ATTEMPTS] + one.rows[PurgeStep.INTENTS] for one in purged) <= 80
    assert sum(one.rows[PurgeStep.INTENTS] for one in purged) == 40
    assert not ResetIntent.objects.exists()


def test_what_somebody_holds_is_passed_over_and_found_by_the_next_round(moved_clock: Clock) -> None:
    first, _ = sent(2)
    let_a_month_pass(moved_clock)
    with holding() as cursor:
        cursor.execute(f"SELECT 1 FROM {INTENT} WHERE id = %s FOR NO KEY UPDATE", [first.intent_id])
        purged = alone(purge)
    assert (purged.rows[PurgeStep.ATTEMPTS], purged.rows[PurgeStep.INTENTS]) == (1, 1)
    assert list(Delivery.objects.values_list("pk", flat=True)) == [first.pk]
    assert purge().rows[PurgeStep.INTENTS] == 1


def test_a_receipt_that_is_being_stored_keeps_its_trail_until_it_is_counted(moved_clock: Clock) -> None:
    (delivery,) = sent()
    attempt = Attempt.objects.get()
    let_a_month_pass(moved_clock)
    with holding() as cursor:
        cursor.execute(f"SELECT 1 FROM {INTENT} WHERE id = %s FOR NO KEY UPDATE", [delivery.intent_id])
        now = now_sql(connection)
        cursor.execute(
            f"UPDATE {ATTEMPT} SET receipt = 'delivered', receipt_at = {now} WHERE id = %s", [attempt.pk]
        )
        alone(purge)
    purge()
    assert Attempt.objects.filter(receipt="delivered").exists()


class Traffic:
    """Admissions, deliveries and receipts, with a count of what came of them."""

    def __init__(self, refs: list[str]) -> None:
        self._refs = refs
        self.admitted = self.submitted = self.told = 0
        self._sent: list[Attempt] = []

    def admit(self) -> None:
        for ref in self._refs:
            for whose in ({"account_ref": ref}, {"submitted": f"{ref}@nobody.example"}):
                # The same key in each round: a replay as long as it is there, a new reset once it has gone.
                key: dict[str, Any] = {**whose, "idempotency_key": f"{whose}", "client": "shop"}
                admission = request_reset(channels=["email", "sms"], **key)
                self.admitted += 2 * (not admission.replayed and not admission.coalesced)

    def deliver(self) -> None:
        self.submitted += len(deliver_now(outcomes={channel: [NAMED] * 99 for channel in Channel}))

    def receive(self) -> None:
        for attempt in self._sent:
            told = hear(attempt, "delivered")
            self.told += told in {RecordedReceipt.STORED, RecordedReceipt.MOVED}

    def note(self) -> None:
        """What was sent until now gets its receipts in the next round."""
        self._sent = list(Attempt.objects.filter(receipt=""))


def test_nothing_is_lost_while_everything_runs_at_once(
    moved_clock: Clock, settings: Any, make_account: Callable[..., Any]
) -> None:
    settings.RESETDELIVERY = {**settings.RESETDELIVERY, **AT_ONCE}
    traffic = Traffic([str(make_account().pk) for _ in range(RESETS)])
    for _ in range(ROUNDS):
        together(traffic.admit, traffic.deliver, traffic.receive, upkeep.roll_up, upkeep.purge, upkeep.purge)
        traffic.deliver()
        traffic.note()
        moved_clock.pass_by(3 * MINUTE)
    upkeep.roll_up()
    upkeep.purge()
    assert traffic.told > 0
    assert events("admitted") == traffic.admitted > 2 * 2 * RESETS
    assert events("receipt") == traffic.told
    assert tried() == traffic.submitted
    assert not any(model._default_manager.exists() for model in (ResetIntent, Attempt, IdempotencyKey))


def events(name: str) -> int:
    """How often it happened, by the totals and by the minutes that are not in them yet."""
    return total(EventTotal, EventMinute, "count", event=name)


def tried() -> int:
    """How many attempts were made, by the same."""
    return total(OutcomeTotal, OutcomeMinute, "attempts")


def total(totals: type[Model], minutes: type[Model], column: str, **which: str) -> int:
    still_open = minutes._default_manager.filter(minute__gte=closed_before(using="default"), **which)
    found = [
        rows.aggregate(n=Sum(column))["n"] for rows in (totals._default_manager.filter(**which), still_open)
    ]
    return sum(number or 0 for number in found)
