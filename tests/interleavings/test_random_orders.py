"""Seeded runs of everything against everything over few accounts, and what must hold after them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.db.models import Count, F, Q

from notifications.channels import Channel
from notifications.outcome import Outcome, OutcomeKind
from resetdelivery import broker, dispatch
from resetdelivery.claims import finish_leased, release
from resetdelivery.clock import database_now
from resetdelivery.domain.decisions import Verdict
from resetdelivery.domain.states import OPEN_STATES, DeliveryState
from resetdelivery.models import Attempt, Delivery, ResetIntent
from resetdelivery.recovery import expire_overdue, sweep, wake_due
from resetdelivery.services import cancel_resets, request_reset
from tests.interleavings.racing import together
from tests.steps import ACCEPTED, BUSY, CUT, REFUSED, answer, record, seconds, take

STEPS_PER_WORKER = 60
WORKERS = 4
Draw = random.Random


@pytest.fixture
def flaky_broker(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """A broker that refuses every third message: hints are taken back again and again."""
    settings.RESETDELIVERY = {**settings.RESETDELIVERY, "DISPATCH": "broker", "SWEEP_GRACE": seconds(0)}
    draw = random.Random(1)

    def publish(task: str, args: Sequence[Any], *, queue: str) -> None:
        if draw.random() < 0.34:
            raise broker.BrokerUnavailable

    monkeypatch.setattr(broker, "publish", publish)
    monkeypatch.setattr(broker, "queue_length", lambda queue: 0)


def ask(refs: list[str], draw: Draw) -> None:
    channels = draw.choice([["email"], ["sms"], ["email", "sms"], ["sms", "email"]])
    request_reset(account_ref=draw.choice(refs), channels=channels)


def cancel(refs: list[str], draw: Draw) -> None:
    cancel_resets(account_ref=draw.choice(refs))


def some_rows(draw: Draw) -> list[int]:
    ids = list(Delivery.objects.values_list("pk", flat=True).order_by("-pk")[:12])
    return draw.sample(ids, min(len(ids), 6))


def send(refs: list[str], draw: Draw) -> None:
    """A worker: claims, sometimes dies, sometimes is late, sometimes refuses or gives back."""
    channel = draw.choice(list(Channel))
    claimed = take(channel, some_rows(draw), limit=6, lease=draw.choice([0.0, 30.0]))
    end = draw.random()
    if end < 0.15:
        return
    if end < 0.3:
        release(claimed, using="default")
        return
    if end < 0.4:
        verdict = Verdict(state=DeliveryState.CANCELLED, reason="account_changed")
        finish_leased([(one, verdict) for one in claimed], using="default")
        return
    marked = record(claimed, budget=draw.choice([0.0, 15.0]), margin=0)
    if draw.random() < 0.8:
        answer(marked, draw.choice(OUTCOMES))


OUTCOMES = [ACCEPTED, REFUSED, BUSY, CUT, Outcome(kind=OutcomeKind.LATE)]


def recover(refs: list[str], draw: Draw) -> None:
    draw.choice([sweep, wake_due, expire_overdue])()


def take_hints_back(refs: list[str], draw: Draw) -> None:
    dispatch.note_unhinted(some_rows(draw), using="default")


Step = Callable[[list[str], Draw], None]

STEPS: list[Step] = [
    *(ask, ask, cancel),
    *(send, send, send),
    *(recover, take_hints_back),
]


def work(steps: Sequence[Step], refs: list[str], seed: int) -> list[str]:
    """A seeded series of ``steps``; what the database said against any of them."""
    draw = random.Random(seed)
    errors = []
    for _ in range(STEPS_PER_WORKER):
        try:
            draw.choice(steps)(refs, draw)
        except Exception as error:  # counted, so that a run shows all it met
            errors.append(f"{type(error).__name__}: {error}")
    return errors


def settle_everything() -> None:
    """Let all leases run out and all time pass."""
    past = database_now(connection) - seconds(1)
    Delivery.objects.exclude(lease_expires_at=None).update(lease_expires_at=past)
    sweep()
    Delivery.objects.filter(state__in=OPEN_STATES).update(expires_at=past)
    expire_overdue()


@pytest.mark.usefixtures("flaky_broker")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_order_of_steps_deadlocks_or_breaks_what_must_hold(
    make_account: Callable[..., Any], seed: int
) -> None:
    refs = [str(make_account().pk) for _ in range(3)] + ["nobody"]
    errors = together(*[partial(work, STEPS, refs, seed * 100 + n) for n in range(WORKERS)])
    assert [e for found in errors for e in found] == []
    settle_everything()
    assert not Delivery.objects.filter(state__in=OPEN_STATES).exists()
    assert not ResetIntent.objects.filter(state="open").exists()
    assert_attempts_add_up()


def assert_attempts_add_up() -> None:
    assert Attempt.objects.count() > 0
    assert not Attempt.objects.filter(outcome="").exists()
    accepted = Count("attempt_rows", filter=Q(attempt_rows__outcome="accepted"))
    rows = Delivery.objects.annotate(accepted=accepted, tries=Count("attempt_rows"))
    assert not rows.filter(accepted__gt=1).exists()
    assert not rows.filter(state="accepted", accepted=0).exists()
    assert not rows.exclude(state="accepted").filter(accepted__gt=0).exists()
    assert not rows.exclude(tries=F("attempts")).exists()
    assert not rows.filter(lease_token__lt=F("tries")).exists()
