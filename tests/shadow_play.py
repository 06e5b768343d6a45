"""A shop in the middle of a move whose resets go every way, and an oracle that saw all of it."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from notifications.channels import Channel
from resetdelivery.clock import database_now
from resetdelivery.delivery import deliver
from resetdelivery.domain.telemetry import DELAY_LABELS, QUEUE_DELAY_SECONDS
from resetdelivery.models import ChannelControl, Delivery, ResetIntent
from resetdelivery.recovery import expire_overdue, sweep
from resetdelivery.retention import purge
from resetdelivery.rollout import OutcomeConflict
from resetdelivery.services import forget_account, report_legacy_outcome, request_reset
from resetdelivery.telemetry.rollup import roll_up
from tests.moved_clock import Clock
from tests.steps import seconds

MODES = ("shadow", "shadow", "shadow", "legacy", "live")
OUTCOMES = ("accepted", "accepted", "accepted", "failed", "not_sent")


def minute(at: dt.datetime) -> dt.datetime:
    return at.replace(second=0, microsecond=0)


@dataclass(kw_only=True)
class Play:
    """A shop whose resets go every way, and what was seen of each row before it went."""

    chance: random.Random
    clock: Clock
    make_account: Callable[..., Any]
    accounts: list[Any] = field(default_factory=list)
    seen: dict[int, Delivery] = field(default_factory=dict)
    told: dict[int, str] = field(default_factory=dict)
    reports: Counter[tuple[dt.datetime, str, str]] = field(default_factory=Counter)
    again: Counter[str] = field(default_factory=Counter)

    def step(self) -> None:
        for channel in Channel:
            mode = self.chance.choice(MODES)
            ChannelControl.objects.update_or_create(channel=channel, defaults={"mode": mode})
        for _ in range(self.chance.randint(3, 8)):
            self._ask()
        self._report()
        for channel in Channel:
            if self.chance.random() < 0.75:
                deliver(channel, fill_at_once=True)
        self._look()
        self._report()
        self.clock.pass_by(seconds(self.chance.choice((1, 4, 30, 240, 400, 600))))
        sweep()
        expire_overdue()
        self._look()
        self._forget()
        for work, share in ((roll_up, 0.4), (purge, 0.2)):
            if self.chance.random() < share:
                work()

    def _ask(self) -> None:
        channels = self.chance.choice((["email"], ["sms"], ["email", "sms"]))
        options: dict[str, Any] = {
            "channels": channels,
            "strategy": self.chance.choice(("all", "fallback")),
            "lifetime": seconds(self.chance.choice((60, 300, 600))),
        }
        if self.chance.random() < 0.15:
            request_reset(submitted="nobody@shop.example", **options)
            return
        account = self._account()
        request_reset(account_ref=str(account.pk), **options)
        if self.chance.random() < 0.1:
            account.email = f"moved{account.pk}@shop.example"
            account.save()

    def _account(self) -> Any:
        if self.accounts and self.chance.random() < 0.3:
            return self.chance.choice(self.accounts)
        kind = self.chance.choice(({}, {}, {}, {"email": "", "phone": ""}, {"email": "jürgen@shop.example"}))
        self.accounts.append(self.make_account(**kind))
        return self.accounts[-1]

    def _report(self) -> None:
        """Of some what became of them; of some again, or something else."""
        # Not so late in a minute that the report comes in the next.
        if database_now(connection).second >= 55:
            self.clock.pass_by(seconds(7))
        for row in Delivery.objects.exclude(authority="pipeline").select_related("intent").order_by("pk"):
            if self.chance.random() < (0.03 if row.pk in self.told else 0.4):
                self._tell(row, self.chance.choice(OUTCOMES))

    def _tell(self, row: Delivery, outcome: str) -> None:
        try:
            is_news = report_legacy_outcome(row.intent.reference, row.channel, outcome)
        except OutcomeConflict:
            assert self.told[row.pk] != outcome
            self.again["conflict"] += 1
            return
        if is_news:
            assert row.pk not in self.told
            self.told[row.pk] = outcome
            self.reports[minute(database_now(connection)), row.channel, outcome] += 1
        else:
            assert self.told[row.pk] == outcome
            self.again["same"] += 1

    def _look(self) -> None:
        self.seen.update(Delivery.objects.select_related("intent").in_bulk())

    def _forget(self) -> None:
        """An account of which nothing is open: else its rows would end and go in one step, unseen."""
        account = self.chance.choice(self.accounts)
        if self.chance.random() < 0.2 and not ResetIntent.objects.filter(
            account_ref=str(account.pk), state="open"
        ):
            forget_account(account_ref=str(account.pk))

    # What must be said of it.

    def expected(self, since: dt.datetime, channel: str) -> dict[str, Any]:
        rows = [row for row in self.seen.values() if row.channel == channel]
        shadows = [
            row
            for row in rows
            if row.authority == "shadow" and row.finished_at is not None and row.finished_at >= since
        ]
        sent = [row for row in shadows if row.state == "shadowed"]
        return {
            "channel": channel,
            "admitted": Counter(row.authority for row in rows if row.intent.created_at >= since),
            "claimed": sum(row.claims > 0 for row in shadows),
            "endings": Counter(row.state for row in shadows),
            "refused": Counter(row.reason for row in shadows if row.state != "shadowed"),
            "delays": Counter(map(bucket, sent)),
            "segments": Counter(row.segments_bucket for row in sent if row.segments_bucket),
            "reported": sum(
                (
                    Counter({outcome: number})
                    for (at, on, outcome), number in self.reports.items()
                    if on == channel and at >= since
                ),
                Counter[str](),
            ),
            "pairs": self._pairs(since, [row for row in rows if row.authority != "pipeline"]),
        }

    def _pairs(self, since: dt.datetime, rows: list[Delivery]) -> Counter[tuple[str, str, str]]:
        """Of the rows that are there: nobody can say any more what a row that is gone was told as."""
        there = set(Delivery.objects.values_list("pk", flat=True))
        pairs: Counter[tuple[str, str, str]] = Counter()
        for row in rows:
            if row.pk in there and row.finished_at is None:
                pairs["open", "", self.told.get(row.pk, "")] += 1
            elif row.pk in there and row.finished_at is not None and row.finished_at >= since:
                pairs[row.state, row.reason, self.told.get(row.pk, "")] += 1
        return pairs


def as_reckoned(moment: dt.datetime) -> dt.datetime:
    """As the database sees it when it subtracts: SQLite in whole milliseconds."""
    if connection.vendor != "sqlite":
        return moment
    near = moment + dt.timedelta(microseconds=500)
    return near.replace(microsecond=near.microsecond // 1000 * 1000)


def bucket(row: Delivery) -> str:
    assert row.finished_at is not None
    waited = (as_reckoned(row.finished_at) - as_reckoned(row.due_at)).total_seconds()
    return next(
        (label for bound, label in zip(QUEUE_DELAY_SECONDS, DELAY_LABELS, strict=False) if waited <= bound),
        "inf",
    )
