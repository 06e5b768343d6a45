"""One order of a cut-over: what it knows of, and what its callers do."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Max

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery.claims import Claimed, Marked
from resetdelivery.models import ResetIntent
from resetdelivery.services import cancel_resets, request_reset
from tests.moved_clock import Clock
from tests.sender_ledger import Ledger
from tests.steps import seconds

FAMILY, NOBODY = "family@shop.example", "nobody@shop.example"


@dataclass(kw_only=True)
class Run:
    """One order: its accounts, what workers hold, and what was asked for before."""

    draw: random.Random
    clock: Clock
    settings: Any
    family: list[str]
    others: list[str]
    ledger: Ledger = field(default_factory=Ledger)
    provider: ScriptedTransport = field(init=False)
    leased: list[Claimed] = field(default_factory=list)
    marked: list[Marked] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: int = 0

    def channel(self) -> Channel:
        return self.draw.choice(list(Channel))


def ask(run: Run) -> None:
    who = run.draw.choice(
        [
            *({"submitted": FAMILY}, {"submitted": FAMILY}, {"submitted": NOBODY}),
            *({"account_ref": ref} for ref in (*run.family, *run.others)),
        ]
    )
    request = {
        **who,
        "channels": run.draw.choice([["email"], ["sms"], ["email", "sms"], ["sms", "email"]]),
        "strategy": run.draw.choice(["all", "all", "fallback"]),
        "lifetime": seconds(run.draw.choice([25, 60, 300, 600])),
        "idempotency_key": str(len(run.asked)),
    }
    run.asked.append(request)
    send_request(run, request)


def ask_the_same(run: Run) -> None:
    if run.asked:
        send_request(
            run, {**run.draw.choice(run.asked[-3:]), "idempotency_key": f"again {run.draw.random()}"}
        )


def repeat_a_request(run: Run) -> None:
    """With its key: a replay, or after the key was purged a request like any."""
    if run.asked:
        send_request(run, run.draw.choice(run.asked))


def send_request(run: Run, request: dict[str, Any]) -> None:
    newest = ResetIntent.objects.aggregate(newest=Max("pk"))["newest"] or 0
    given = request_reset(**request)
    if given.replayed:
        run.ledger.replayed(given)
        return
    first = ResetIntent.objects.get(reference=given.reference)
    refs = run.family if request.get("submitted") == FAMILY else [first.account_ref]
    serving = [_serving(ref, newest) for ref in refs]
    assert first in serving
    run.ledger.met["family told"] += bool(len(refs) > 1 and given.legacy_channels)
    run.ledger.met["limited"] += any(intent.cancel_reason for intent in serving)
    channels = [Channel(name) for name in request["channels"]]
    run.ledger.admitted(given, serving, run.ledger.expected(refs, channels, request["strategy"]))


def _serving(ref: str, newest: int) -> ResetIntent:
    """The intent that an account was given a moment ago, or else the one that it joined."""
    of_account = ResetIntent.objects.filter(account_ref=ref).order_by("-pk")
    new = of_account.filter(pk__gt=newest).first()
    return new or of_account.filter(state="open", cancel_requested_at=None)[0]


def withdraw(run: Run) -> None:
    if run.draw.random() < 0.3:
        cancel_resets(account_ref=run.draw.choice([*run.family, *run.others]))
