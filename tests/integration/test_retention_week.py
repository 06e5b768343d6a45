"""A week of traffic, purged as in production, leaves what the policy says: table by table, field by field.

What must be there is worked out in plain Python from what was seen as it was stored, and not by the
purge's own conditions.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from django.db import connection
from django.db.models import F, Model, Sum

from notifications.outcome import Outcome, OutcomeKind
from resetdelivery import audit, upkeep
from resetdelivery.clock import database_now
from resetdelivery.models import (
    Attempt,
    AuditEntry,
    ChannelControl,
    Delivery,
    EventMinute,
    EventTotal,
    IdempotencyKey,
    LimitUse,
    OutcomeMinute,
    OutcomeTotal,
    ResetIntent,
)
from resetdelivery.services import notify_password_changed, report_legacy_outcome, request_reset
from resetdelivery.telemetry.rollup import closed_before
from resetdelivery.testing import deliver_now
from tests.integration.conftest import Settings
from tests.later_words import hear
from tests.moved_clock import Clock, moved_clock
from tests.rolled import of_shadow
from tests.steps import BUSY, CUT, REFUSED, record, take

pytestmark = pytest.mark.django_db

__all__ = ["moved_clock"]

HOUR = dt.timedelta(hours=1)
DAY = dt.timedelta(days=1)
STEP = 6 * HOUR
ACCOUNTS = ("sent", "refused", "busy", "cut", "lost", "shadow", "told")
KEEP: dict[str, Any] = {
    "KEEP_PROVIDER_REFERENCES": 14 * HOUR,
    "KEEP_ACCOUNT_REFS": 22 * HOUR,
    "KEEP_SHADOWS": 6 * HOUR,
    "KEEP_IDEMPOTENCY_KEYS": 1 * DAY + HOUR,
    "KEEP_DECOYS": 30 * HOUR,
    "KEEP_ATTEMPTS": 2 * DAY + HOUR,
    "KEEP_INTENTS": 4 * DAY + HOUR,
    "KEEP_MINUTES": 3 * DAY + HOUR,
    "KEEP_AUDIT_ENTRIES": 5 * DAY + HOUR,
    "PURGE_BATCH": 7,
}
RECEIPTS = {
    "email": {"TRANSPORT": "tests.transports.email"},
    "sms": {"TRANSPORT": "tests.transports.sms", "GIVES_RECEIPTS": True},
}

Row = TypeVar("Row", bound=Model)


class Ledger:
    """Every row that was ever seen, as it was before anything of it was scrubbed."""

    def __init__(self) -> None:
        self._books: dict[type[Model], dict[int, Any]] = defaultdict(dict)

    def note(self) -> None:
        """Look at everything there is, between the traffic and the purge."""
        for model in (Delivery, IdempotencyKey, LimitUse, AuditEntry):
            self._books[model].update(model._default_manager.in_bulk())
        self._note(ResetIntent, "account_ref", "account_digest")
        self._note(Attempt, "provider_reference")

    def _note(self, model: type[Model], *remembered: str) -> None:
        for key, row in model._default_manager.in_bulk().items():
            for name in remembered:
                before = self._books[model].get(key)
                setattr(row, name, getattr(before, name) if before else getattr(row, name))
            self._books[model][key] = row

    def all(self, model: type[Row]) -> list[Row]:
        return list(self._books[model].values())

    def get(self, model: type[Row], key: int) -> Row:
        row: Row = self._books[model][key]
        return row


class Shop:
    """The traffic of one step: everything that a reset can become."""

    def __init__(self, make_account: Callable[..., Any]) -> None:
        self._accounts = {name: make_account() for name in ACCOUNTS}
        self._number = 0

    def trade(self, clock: Clock) -> None:
        self._number += 1
        self._ask("sent", ["email", "sms"], email=[taken("mail")], sms=[taken(f"SM{self._number}")])
        self._ask("refused", ["email"], email=[REFUSED])
        self._ask("busy", ["sms"], sms=[BUSY])
        self._ask("cut", ["email"], email=[CUT])
        self._lose()
        self._decoy()
        self._shadow()
        self._notice()
        clock.pass_by(dt.timedelta(minutes=2))
        upkeep.sweep()
        deliver_now(outcomes={"sms": [taken(f"SN{self._number}")]})
        self._hear()
        audit.record(who="anna", action="paused", target="email")

    def _ask(self, name: str, channels: list[str], **outcomes: list[Outcome]) -> None:
        request_reset(account_ref=str(self._accounts[name].pk), channels=channels)
        deliver_now(outcomes=outcomes)

    def _lose(self) -> None:
        """A worker dies after it wrote its attempt down."""
        request_reset(account_ref=str(self._accounts["lost"].pk), channels=["email"])
        record(take())

    def _decoy(self) -> None:
        for key in ("one", "two"):
            request_reset(
                submitted="nobody@example.com",
                channels=["email"],
                idempotency_key=f"{key} {self._number}",
                client="shop",
            )
        deliver_now()

    def _shadow(self) -> None:
        """One that another sender sends; the channel is ours again before anything of it is purged."""
        ChannelControl.objects.filter(channel="email").update(mode="shadow")
        account_ref = str(self._accounts["shadow"].pk)
        admission = request_reset(account_ref=account_ref, channels=["email"])
        deliver_now()
        report_legacy_outcome(admission.reference, "email", "accepted")
        ChannelControl.objects.filter(channel="email").update(mode="live")

    def _notice(self) -> None:
        account = self._accounts["told"]
        account.set_password(f"horse {self._number}")
        account.save()
        notify_password_changed(account_ref=str(account.pk))
        deliver_now()

    def _hear(self) -> None:
        """Two of three text messages are confirmed."""
        if self._number % 3:
            hear(Attempt.objects.get(provider_reference=f"SM{self._number}"), "delivered")
        else:
            hear(Attempt.objects.get(provider_reference=f"SM{self._number}"), "progress")


def taken(reference: str) -> Outcome:
    return Outcome(kind=OutcomeKind.ACCEPTED, provider_reference=reference)


def test_a_week_leaves_exactly_what_the_policy_says(
    change: Settings, make_account: Callable[..., Any], moved_clock: Clock
) -> None:
    change(**KEEP, CHANNELS=RECEIPTS)
    ledger, shop = Ledger(), Shop(make_account)
    for _ in range(7 * DAY // STEP):
        shop.trade(moved_clock)
        ledger.note()
        upkeep.roll_up()
        upkeep.purge()
        moved_clock.pass_by(STEP)
    request_reset(account_ref="open", channels=["email"])
    ledger.note()
    moved_clock.pass_by(dt.timedelta(minutes=10))
    upkeep.roll_up()
    now = database_now(connection)
    upkeep.purge()
    assert held() == expected(ledger, now)
    assert counted() == ever(ledger)


def held() -> dict[str, Any]:
    """What the tables hold."""
    return {
        "intents": ids(ResetIntent),
        "account_ref": dict(ResetIntent.objects.values_list("pk", "account_ref")),
        "account_digest": dict(ResetIntent.objects.values_list("pk", "account_digest")),
        "scrubbed": set(ResetIntent.objects.filter(scrubbed_at__isnull=False).values_list("pk", flat=True)),
        "deliveries": ids(Delivery),
        "attempts": ids(Attempt),
        "provider_reference": dict(Attempt.objects.values_list("pk", "provider_reference")),
        "keys": ids(IdempotencyKey),
        "uses": ids(LimitUse),
        "entries": ids(AuditEntry),
        "oldest minutes": {
            model.__name__: model._default_manager.order_by("minute").values_list("minute", flat=True)[0]
            for model in (OutcomeMinute, EventMinute)
        },
    }


def ids(model: type[Model]) -> set[int]:
    return set(model._default_manager.values_list("pk", flat=True))


def expected(ledger: Ledger, now: dt.datetime) -> dict[str, Any]:
    """What they must hold by the policy, from what was seen of each row."""

    def young(at: dt.datetime | None, keep: str) -> bool:
        return at is None or now - at <= KEEP[keep]

    def stays(intent: ResetIntent) -> bool:
        decoy = intent.account_ref.startswith("~")
        return young(intent.closed_at, "KEEP_DECOYS" if decoy else "KEEP_INTENTS")

    def named(intent: ResetIntent) -> bool:
        if intent.account_ref.startswith("~"):
            return True
        shadow = authorities[intent.pk] == {"shadow"}
        return young(intent.closed_at, "KEEP_SHADOWS" if shadow else "KEEP_ACCOUNT_REFS")

    def traceable(attempt: Attempt) -> bool:
        sms = ledger.get(Delivery, attempt.delivery_id).channel == "sms"
        return (
            sms and attempt.receipt != "delivered" and young(attempt.started_at, "KEEP_PROVIDER_REFERENCES")
        )

    authorities: dict[int, set[str]] = defaultdict(set)
    newest: dict[int, dt.datetime] = {}
    for delivery in ledger.all(Delivery):
        authorities[delivery.intent_id].add(delivery.authority)
    for attempt in ledger.all(Attempt):
        last = newest.get(attempt.delivery_id, attempt.started_at)
        newest[attempt.delivery_id] = max(last, attempt.started_at)
    intents = {one.pk: one for one in ledger.all(ResetIntent) if stays(one)}
    deliveries = {one.pk for one in ledger.all(Delivery) if one.intent_id in intents}
    attempts = [
        one
        for one in ledger.all(Attempt)
        if one.delivery_id in deliveries and young(newest[one.delivery_id], "KEEP_ATTEMPTS")
    ]
    first_minute = minute_after(now - KEEP["KEEP_MINUTES"], ledger)
    return {
        "intents": set(intents),
        "account_ref": {key: one.account_ref if named(one) else "" for key, one in intents.items()},
        "account_digest": {key: one.account_digest if named(one) else "" for key, one in intents.items()},
        "scrubbed": {key for key, one in intents.items() if not named(one)},
        "deliveries": deliveries,
        "attempts": {one.pk for one in attempts},
        "provider_reference": {one.pk: one.provider_reference if traceable(one) else "" for one in attempts},
        "keys": {
            one.pk for one in ledger.all(IdempotencyKey) if young(one.created_at, "KEEP_IDEMPOTENCY_KEYS")
        },
        "uses": {one.pk for one in ledger.all(LimitUse) if now - one.used_at <= DAY},
        "entries": {one.pk for one in ledger.all(AuditEntry) if young(one.at, "KEEP_AUDIT_ENTRIES")},
        "oldest minutes": {"OutcomeMinute": first_minute[0], "EventMinute": first_minute[1]},
    }


def minute_after(moment: dt.datetime, ledger: Ledger) -> tuple[dt.datetime, dt.datetime]:
    """The first minutes from ``moment`` on in which an attempt was made, and anything happened."""
    tries = [one.started_at for one in ledger.all(Attempt)]
    others = [one.created_at for one in ledger.all(ResetIntent)]
    first = [min(m for at in moments if (m := minute(at)) >= moment) for moments in (tries, others)]
    return first[0], first[1]


def minute(at: dt.datetime) -> dt.datetime:
    return at.replace(second=0, microsecond=0)


def counted() -> dict[str, Counter[Any]]:
    """What the lifetime totals say, with the minutes that are not in them yet."""
    since = closed_before(using="default")
    attempts: Counter[Any] = Counter()
    events: Counter[Any] = Counter()
    for outcomes in (OutcomeTotal.objects.all(), OutcomeMinute.objects.filter(minute__gte=since)):
        for channel, outcome, number in outcomes.values_list("channel", "outcome").annotate(Sum("attempts")):
            attempts[channel, outcome] += number
    for happened in (EventTotal.objects.all(), EventMinute.objects.filter(minute__gte=since)):
        wanted = happened.filter(event__in=["admitted", "finished", "receipt", *OF_SHADOWS])
        for event, channel, label, number in wanted.values_list("event", "channel", "label").annotate(
            number=Sum(F("count"))
        ):
            events[event, channel, label] += number
    return {"attempts": attempts, "events": events}


OF_SHADOWS = ("shadow_claimed", "shadow_finished", "shadow_refused", "shadow_delay", "legacy_reported")


def ever(ledger: Ledger) -> dict[str, Counter[Any]]:
    """The same from every row that ever was."""
    deliveries = ledger.all(Delivery)
    channels = {one.pk: one.channel for one in deliveries}
    attempts = Counter((channels[one.delivery_id], one.outcome) for one in ledger.all(Attempt))
    events = Counter(("admitted", one.channel, one.authority) for one in deliveries)
    events += Counter(
        ("finished", one.channel, "accepted" if one.state == "delivered" else one.state)
        for one in deliveries
        if one.finished_at and one.authority != "shadow"
    )
    for one in deliveries:
        if one.finished_at and one.authority == "shadow":
            events += of_shadow(one, one.finished_at)
            events["legacy_reported", one.channel, f"{one.state}:{one.legacy_outcome}"] += 1
    told = [one for one in ledger.all(Attempt) if one.receipt]
    events += Counter(("receipt", channels[one.delivery_id], one.receipt) for one in told)
    return {"attempts": attempts, "events": events}
