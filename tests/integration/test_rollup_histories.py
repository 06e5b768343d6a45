"""Whatever happens in whatever order: counters are what the rows came to, and never fall."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from notifications.channels import Channel
from resetdelivery.claims import Claimed, Marked, finish_leased
from resetdelivery.clock import database_now
from resetdelivery.domain.decisions import Verdict
from resetdelivery.domain.states import Authority, DeliveryState
from resetdelivery.domain.telemetry import LegacyOutcome
from resetdelivery.models import Attempt, Delivery, ResetIntent
from resetdelivery.recovery import expire_overdue, sweep
from resetdelivery.services import report_legacy_outcome
from resetdelivery.telemetry import counts as telemetry_counts
from resetdelivery.telemetry.rollup import roll_up
from tests.later_words import hear
from tests.moved_clock import moved_clock
from tests.rolled import Numbers, closed_before, counts, displayed, pass_minutes, sums, truth
from tests.steps import ACCEPTED, BUSY, CUT, REFUSED, answer, record, seconds, store, take

pytestmark = pytest.mark.django_db

__all__ = ["moved_clock"]

OUTCOMES = [ACCEPTED, BUSY, CUT, REFUSED]
AUTHORITIES = ["pipeline", "pipeline", "shadow", "legacy"]
ENDS = {
    Authority.SHADOW: (
        Verdict(state=DeliveryState.SHADOWED, reason="shadow", segments="2"),
        Verdict(state=DeliveryState.FAILED, reason="no_destination"),
    ),
    Authority.LEGACY: 2 * (Verdict(state=DeliveryState.WITHHELD, reason="sent_by_existing_sender"),),
}
VERDICTS = ["progress", "failed", "delivered"]
#: Of what leaves no row there is nothing to compare with here: see test_counts.py.
BY_ROWS_ONLY = {"lease_recovered", "later_hint"}


@dataclass(kw_only=True)
class History:
    """What workers hold, and what rows that are gone came to."""

    leased: list[Claimed] = field(default_factory=list)
    marked: list[Marked] = field(default_factory=list)
    gone: Numbers = field(default_factory=Numbers)

    def everything(self) -> Numbers:
        """What all rows came to, those that are gone as well."""
        return self.gone + truth()


Step = Callable[[History, int], None]


def admit(history: History, pick: int) -> None:
    channel = list(Channel)[pick % 2]
    store(
        1 + pick % 3,
        channel,
        life=600 if pick % 5 else 1,
        overdue=pick,
        first_hint="published",
        authority=AUTHORITIES[pick % len(AUTHORITIES)],
    )


def claim(history: History, pick: int) -> None:
    history.leased += take(list(Channel)[pick % 2], limit=3)


def mark(history: History, pick: int) -> None:
    """Mark what is ours, and end what another sender sends."""
    ours = [one for one in history.leased if one.authority is Authority.PIPELINE]
    ends = [(one, ENDS[one.authority][pick % 2]) for one in history.leased if one not in ours]
    finish_leased(ends, using="default")
    history.marked += record(ours)
    history.leased = []


def report(history: History, pick: int) -> None:
    """What another sender says of its own, once: it is counted beside what ours is at that moment."""
    others = Delivery.objects.exclude(authority="pipeline").filter(legacy_outcome="").order_by("pk")
    if others:
        row, told = others[pick % len(others)], list(LegacyOutcome)[pick % 3]
        assert report_legacy_outcome(row.intent.reference, row.channel, told)
        ending = row.state if row.finished_at else "open"
        history.gone["legacy_reported", row.channel, f"{ending}:{told}"] += 1


def settle(history: History, pick: int) -> None:
    """Also by a worker whose lease was taken for lost long ago."""
    some, history.marked = history.marked[:2], history.marked[2:]
    for one in some:
        if Attempt.objects.filter(pk=one.attempt_id).exists():
            answer([one], OUTCOMES[pick % len(OUTCOMES)])


def lose(history: History, pick: int) -> None:
    past = database_now(connection) - seconds(1)
    Delivery.objects.filter(state__in=["leased", "submitting"]).update(lease_expires_at=past)
    sweep()
    expire_overdue()


def tell(history: History, pick: int) -> None:
    attempts = list(Attempt.objects.order_by("pk"))
    if attempts:
        attempt = attempts[pick % len(attempts)]
        before, stored = attempt.receipt, hear(attempt, VERDICTS[pick % len(VERDICTS)])
        if before and stored != "stale":
            # Its word is no row's any more, and was said all the same.
            history.gone["receipt", Delivery.objects.get(pk=attempt.delivery_id).channel, before] += 1


def wait(history: History, pick: int) -> None:
    pass_minutes(1 + pick)


def count(history: History, pick: int) -> None:
    roll_up()


def forget(history: History, pick: int) -> None:
    """What an erasure does: rows of minutes that are still open go as well."""
    rows = list(Delivery.objects.exclude(state__in=["leased", "submitting"]).order_by("pk"))
    if rows:
        some = Delivery.objects.filter(pk=rows[pick % len(rows)].pk).select_related("intent")
        history.gone += truth(some)
        with transaction.atomic():
            telemetry_counts.keep(connection, [row.pk for row in some])
            ResetIntent.objects.filter(pk__in=[row.intent_id for row in some]).delete()


def purge(history: History, pick: int) -> None:
    """What retention does: only rows all of whose minutes are closed."""
    since = closed_before()
    if since:
        old = Delivery.objects.filter(intent__created_at__lt=since, finished_at__lt=since)
        for attempt in Attempt.objects.all():
            if max(filter(None, (attempt.started_at, attempt.receipt_at, attempt.late_at))) >= since:
                old = old.exclude(pk=attempt.delivery_id)
        history.gone += truth(old.select_related("intent"))
        ResetIntent.objects.filter(deliveries__in=old).delete()


STEPS: list[Step] = [admit, claim, mark, settle, lose, tell, report, wait, count, forget, purge]
histories = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 29)), min_size=5, max_size=40)


@contextmanager
def undone() -> Iterator[None]:
    """A transaction of which nothing stays."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def by_rows(numbers: Numbers) -> Numbers:
    return Numbers({key: number for key, number in counts(numbers).items() if key[0] not in BY_ROWS_ONLY})


def differing(some: Numbers, others: Numbers) -> dict[tuple[Any, ...], float]:
    """By how much, where it is more than what comes from rounding each measure."""
    by = {key: some[key] - others[key] for key in {*some, *others}}
    return {key: number for key, number in by.items() if abs(number) > 0.05}


# A history is a second's work: it is shown as it was found, for shrinking it takes minutes.
@settings(max_examples=25, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(histories)
def test_no_counter_ever_falls_and_all_are_right_in_the_end(steps: list[tuple[Step, int]]) -> None:
    with undone():
        history = History()
        for step, pick in [(admit, 1), (claim, 0), (mark, 0), *steps]:
            before = displayed()
            step(history, pick)
            now = displayed()
            assert {key: n for key, n in before.items() if now[key] < n} == {}, step.__name__
        lose(history, 0)
        for _ in range(2):
            pass_minutes(30)
            roll_up()
            assert by_rows(displayed()) == by_rows(history.everything())
            assert differing(sums(displayed()), sums(history.everything())) == {}
