"""A reconciliation beside everything that goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from notifications.channels import Channel
from resetdelivery.reconciliation import reconcile
from resetdelivery.recovery import sweep
from resetdelivery.services import cancel_resets, forget_account, request_reset
from resetdelivery.telemetry.rollup import roll_up
from tests.interleavings.racing import CEILING_SECONDS, alone
from tests.steps import ACCEPTED, BUSY, REFUSED, answer, record, seconds, take

ROUNDS = 12


def shop(refs: list[str]) -> None:
    """Asks, changes its mind, and forgets."""
    for number, ref in enumerate(refs):
        request_reset(account_ref=ref, channels=["email", "sms"])
        if number % 4 == 1:
            cancel_resets(account_ref=ref)
        if number % 4 == 2:
            forget_account(account_ref=ref)


def worker(done: threading.Event) -> None:
    outcomes = [ACCEPTED, BUSY, REFUSED]
    turn = 0
    while not done.is_set():
        for channel in Channel:
            turn += 1
            answer(record(take(channel, limit=2)), outcomes[turn % 3])


def clerk(done: threading.Event) -> None:
    while not done.is_set():
        sweep()
        roll_up()


def test_what_goes_on_makes_no_difference(make_account: Callable[..., Any], db: None) -> None:
    refs = [str(make_account().pk) for _ in range(24)]
    done = threading.Event()
    with ThreadPoolExecutor(4) as pool:
        try:
            others = [pool.submit(alone, partial(one, done)) for one in (worker, worker, clerk)]
            asking = pool.submit(alone, partial(shop, refs))
            reports = [reconcile(seconds(3600)) for _ in range(ROUNDS)]
            asking.result(CEILING_SECONDS)
        finally:
            done.set()
        for other in others:
            other.result(CEILING_SECONDS)
    assert [one.sentence() for report in reports for one in report.differences] == []
    last = reconcile(seconds(3600))
    assert last.ok
    assert sum(one.left for one in last.balances if one.check == "admitted_ever") >= 24
