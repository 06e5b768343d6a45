"""Random orders of everything that can happen to a reset with two channels, one after the other.

After each step the invariants of the design are looked at; at the end, time passes.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from notifications.channels import Channel
from notifications.receipts.receipt import ReceiptVerdict
from resetdelivery import fallback
from resetdelivery.claims import Claimed, Marked, release
from resetdelivery.domain.states import (
    FINISHED_STATES,
    HELD_STATES,
    OPEN_STATES,
    DeliveryState,
    may_move,
)
from resetdelivery.models import Attempt, ChannelControl, Delivery, ResetIntent
from resetdelivery.recovery import expire_overdue, sweep
from resetdelivery.services import cancel_resets
from tests.conftest import age
from tests.later_words import ask_in_turn, hear
from tests.steps import ACCEPTED, BUSY, CUT, LOCKED_OUT, REFUSED, answer, pause, record, seconds, take

pytestmark = pytest.mark.django_db

S = DeliveryState
STEPS_PER_RUN = 40
SEEDS = range(50)
OUTCOMES = [ACCEPTED, ACCEPTED, CUT, CUT, BUSY, REFUSED, LOCKED_OUT]


@dataclass(kw_only=True)
class Run:
    """One reset, what workers hold of it, and what was seen of it last."""

    account: Any
    draw: random.Random
    enough_when_accepted: bool
    leased: list[Claimed] = field(default_factory=list)
    marked: list[Marked] = field(default_factory=list)
    seen: dict[int, dict[str, Any]] = field(default_factory=dict)


def claim_some(run: Run) -> None:
    run.leased += take(run.draw.choice(list(Channel)), floor=7)


def mark_some(run: Run) -> None:
    held, run.leased = run.leased, []
    forbidden = needless(run)
    paused = set(ChannelControl.objects.filter(paused=True).values_list("channel", flat=True))
    for one in held:
        marked = record([one])
        assert not (marked and one.id in forbidden), "Sent again, or instead of what had arrived."
        assert not (marked and one.channel in paused), "Sent in a paused channel."
        run.marked += marked


def needless(run: Run) -> set[int]:
    """Deliveries that must not be sent any more: they arrived, or the channel before them is enough."""
    first, second = Delivery.objects.order_by("position")
    arrived = {d.pk for d in (first, second) if d.attempt_rows.filter(receipt="delivered").exists()}
    enough = first.state == S.DELIVERED or (first.state == S.ACCEPTED and run.enough_when_accepted)
    return arrived | ({second.pk} if enough else set())


def settle_some(run: Run) -> None:
    marked, run.marked = run.marked, []
    for one in marked:
        answer([one], run.draw.choice(OUTCOMES))


def lose_everything(run: Run) -> None:
    run.leased, run.marked = [], []


def give_back(run: Run) -> None:
    release(run.leased, using="default")
    run.leased = []


def hear_something(run: Run) -> None:
    attempts = list(Attempt.objects.order_by("pk"))
    if attempts:
        hear(run.draw.choice(attempts), run.draw.choice(list(ReceiptVerdict)))


def toggle_a_pause(run: Run) -> None:
    channel = run.draw.choice(list(Channel))
    pause(channel, paused=run.draw.random() < 0.5)


def let_time_pass(run: Run) -> None:
    age(run.draw.choice([0.3, 2.0, 10.0, 25.0, 61.0]))


def cancel(run: Run) -> None:
    if run.draw.random() < 0.2:
        cancel_resets(account_ref=str(run.account.pk))


STEPS: list[Callable[[Run], object]] = [
    *(claim_some, claim_some, claim_some, mark_some, mark_some, mark_some, settle_some, settle_some),
    *(hear_something, hear_something, let_time_pass, let_time_pass, toggle_a_pause, cancel),
    *(lose_everything, give_back),
    *(lambda run: sweep(), lambda run: expire_overdue(), lambda run: fallback.arm_due()),
]


def assert_what_must_hold(run: Run) -> None:
    rows = list(Delivery.objects.order_by("position"))
    for row in rows:
        assert_it_moved_by_the_table(run.seen.get(row.pk), row)
        assert_it_was_not_sent_twice(row)
        assert_it_moves_on(row)
    assert_the_second_waits_for_a_reason(run, *rows)
    states = {DeliveryState(row.state) for row in rows}
    assert (ResetIntent.objects.get().state == "open") is bool(states & OPEN_STATES)
    run.seen = {row.pk: vars(row).copy() for row in rows}


def assert_it_moved_by_the_table(before: dict[str, Any] | None, row: Delivery) -> None:
    if before is None:
        return
    was, now = DeliveryState(before["state"]), DeliveryState(row.state)
    assert row.lease_token >= before["lease_token"]
    if was in FINISHED_STATES and was is not now:
        assert may_move(was, now), f"{was} became {now}."
    assert now is not S.WAITING or was is S.WAITING


def assert_it_was_not_sent_twice(row: Delivery) -> None:
    attempts = list(row.attempt_rows.order_by("number"))
    accepted = [a for a in attempts if "accepted" in {a.outcome, a.late_outcome}]
    ambiguous = [a for a in attempts if a.outcome == "ambiguous"]
    assert len({a.pk for a in (*accepted, *ambiguous)}) <= 1 + len(ambiguous)
    if row.state == S.FAILED and attempts and attempts[-1].outcome == "accepted":
        assert attempts[-1].receipt in {"failed", "delivered"}
    if row.state == S.DELIVERED:
        assert any(a.receipt == "delivered" for a in attempts)
    elif row.state not in {*FINISHED_STATES, S.SUBMITTING} or row.state == S.ACCEPTED:
        assert not any(a.receipt == "delivered" for a in attempts)


def assert_it_moves_on(row: Delivery) -> None:
    assert (row.lease_expires_at is not None) == (row.state in HELD_STATES)
    assert row.state != S.WAITING or row.arm_at is not None
    if row.state == S.SUBMITTING:
        assert row.attempt_rows.filter(outcome="", token=row.lease_token).count() == 1
    else:
        assert not row.attempt_rows.filter(outcome="", token=row.lease_token).exists()


def assert_the_second_waits_for_a_reason(run: Run, first: Delivery, second: Delivery) -> None:
    over = FINISHED_STATES - ({S.ACCEPTED} if not run.enough_when_accepted else set())
    assert not (second.state == S.WAITING and first.state in over)
    assert bool(second.arm_reason) or not second.attempt_rows.exists()


def end_of_time(run: Run) -> None:
    lose_everything(run)
    for _ in range(3):
        age(25)
        sweep()
    age(700)
    sweep()
    expire_overdue()


def test_no_order_of_events_sends_twice_or_leaves_anything_behind(account: Any, settings: Any) -> None:
    endings: set[str] = set()
    reasons: set[str] = set()
    for seed in SEEDS:
        ResetIntent.objects.all().delete()
        ChannelControl.objects.all().delete()
        try:
            live_through(account, settings, random.Random(seed))
        except AssertionError as error:
            error.add_note(f"Seed {seed}.")
            raise
        endings.add(Delivery.objects.get(position=0).state)
        reasons.add(Delivery.objects.get(position=1).arm_reason)
    # The orders reached what they are about.
    assert endings == {S.DELIVERED, S.FAILED, S.EXPIRED, S.CANCELLED, S.ACCEPTED}
    assert reasons >= {"", "failed", "paused", "unconfirmed"}


def live_through(account: Any, settings: Any, draw: random.Random) -> None:
    first, second = draw.sample(list(Channel), 2)
    receipts = draw.random() < 0.6
    set_up(settings, first, receipts)
    ask_in_turn(account, first, second)
    run = Run(account=account, draw=draw, enough_when_accepted=not receipts)
    assert_what_must_hold(run)
    for _ in range(STEPS_PER_RUN):
        draw.choice(STEPS)(run)
        assert_what_must_hold(run)
    end_of_time(run)
    assert_what_must_hold(run)
    assert ResetIntent.objects.get().state == "closed"
    assert not Attempt.objects.filter(outcome="").exists()


def set_up(settings: Any, first: Channel, receipts: bool) -> None:
    options: dict[str, dict[str, Any]] = {
        channel.value: {"TRANSPORT": f"tests.transports.{channel.value}"} for channel in Channel
    }
    options[first.value] |= {"GIVES_RECEIPTS": receipts, "FALLBACK_AFTER": seconds(60)}
    settings.RESETDELIVERY = {**settings.RESETDELIVERY, "CHANNELS": options}
