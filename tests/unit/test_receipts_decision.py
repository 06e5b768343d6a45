"""Which receipt replaces which, and what an early one makes of a decision."""

from __future__ import annotations

import datetime as dt
import itertools

import pytest

from notifications.outcome import Reason
from notifications.receipts.receipt import ReceiptVerdict
from resetdelivery.domain.decisions import Decision
from resetdelivery.domain.receipts import MOVED, EarlyReceipts, outranked, with_receipts
from resetdelivery.domain.states import TRANSITIONS, DeliveryState

S = DeliveryState
V = ReceiptVerdict

RETRY = Decision(state=S.PENDING, reason="provider_busy", due_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
ACCEPTED = Decision(state=S.ACCEPTED, reason="ok")
HELD = Decision(state=S.PENDING, reason="x", due_at=RETRY.due_at, counts=False, pauses_channel=True)


@pytest.mark.parametrize("order", list(itertools.permutations(V)))
def test_in_whatever_order_they_come_the_same_one_is_kept(order: tuple[V, ...]) -> None:
    kept: V | None = None
    for verdict in order:
        if kept is None or kept in outranked(verdict):
            kept = verdict
    assert kept is V.DELIVERED


@pytest.mark.parametrize("verdict", V)
def test_no_receipt_replaces_its_like(verdict: V) -> None:
    assert verdict not in outranked(verdict)


def test_a_failure_replaces_progress_and_only_that() -> None:
    assert outranked(V.FAILED) == [V.PROGRESS]


@pytest.mark.parametrize(
    ("verdict", "state"), [(v, s) for v, states in MOVED.items() for s in sorted(states)]
)
def test_a_receipt_takes_only_steps_of_the_table(verdict: V, state: S) -> None:
    assert S(verdict.value) in TRANSITIONS[state]


def test_progress_moves_nothing() -> None:
    assert MOVED[V.PROGRESS] == frozenset()


@pytest.mark.parametrize("decision", [RETRY, ACCEPTED, Decision(state=S.FAILED), Decision(state=S.EXPIRED)])
def test_what_was_delivered_meanwhile_is_delivered(decision: Decision) -> None:
    told = with_receipts(decision, EarlyReceipts(delivered=True, failure=Reason.MAILBOX_FULL))
    assert (told.state, told.reason, told.due_at) == (S.DELIVERED, "ok", None)


def test_a_delivery_that_arrived_still_says_that_the_channel_is_at_fault() -> None:
    told = with_receipts(HELD, EarlyReceipts(delivered=True))
    assert (told.state, told.counts, told.pauses_channel) == (S.DELIVERED, False, True)


def test_a_failure_told_meanwhile_ends_what_was_accepted() -> None:
    told = with_receipts(ACCEPTED, EarlyReceipts(failure=Reason.MAILBOX_FULL))
    assert (told.state, told.reason) == (S.FAILED, "mailbox_full")


@pytest.mark.parametrize(
    "decision", [RETRY, Decision(state=S.FAILED, reason="x"), Decision(state=S.CANCELLED)]
)
def test_a_failure_told_meanwhile_changes_no_other_decision(decision: Decision) -> None:
    assert with_receipts(decision, EarlyReceipts(failure=Reason.MAILBOX_FULL)) == decision


@pytest.mark.parametrize("decision", [RETRY, ACCEPTED])
def test_without_receipts_a_decision_stands(decision: Decision) -> None:
    assert with_receipts(decision, EarlyReceipts()) == decision
