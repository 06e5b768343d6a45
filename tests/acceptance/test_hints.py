"""Hints are only hints: lost, repeated, reordered, senseless ones change nothing but timing."""

from __future__ import annotations

import random

import pytest

from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import Delivery, ResetIntent
from resetdelivery.services import request_reset
from tests.acceptance.conftest import MakeAccounts
from tests.acceptance.harness import hints
from tests.acceptance.harness.configuration import HINT_BACKLOG
from tests.acceptance.harness.invariants import assert_final_rows_kept, assert_invariants, final_rows
from tests.acceptance.harness.processes import Running
from tests.acceptance.harness.stage import Stage
from tests.acceptance.harness.ticks import tick_until, tick_until_finished
from tests.acceptance.harness.waiting import eventually

pytestmark = pytest.mark.acceptance

SENSELESS_ARGUMENTS = [
    (),
    ("email",),
    ("pigeon", [1]),
    (None, None),
    ({"channel": "email"}, [1]),
    (["email"], [1]),
    ("email", "1"),
    ("email", {"1": 1}),
    ("email", 1),
    ("email", [None, "1", 1.5, True, [1], {"id": 1}, -1, 0, 2**63, 10**30]),
    ("email", [2**63 - 1]),
    ("email", list(range(10**6, 10**6 + 2000))),
    ("email", [1], "more", {"than": "expected"}),
]
#: What stands in place of a message's arguments, keywords and options.
SENSELESS_BODIES = [
    [["email", [1]], {"unknown": 1}, {}],
    [["email", [1]], [], {}],
    [{"channel": "email"}, {}, {}],
    [["email"], {"channel": "sms"}, {}],
]
#: What a Celery worker logs of a task that ends with an exception.
TASK_FAILED = "raised unexpected"


def _everything_was_read(stage: Stage, worker: Running) -> bool:
    assert worker.is_alive, "The worker ended."
    return not stage.broker.messages("email")


def _assert_the_next_reset_arrives(stage: Stage, account: str) -> None:
    before = stage.provider.store.count("email")
    request_reset(account_ref=account, channels=["email"])
    tick_until(lambda: stage.provider.store.count("email") == before + 1, "the next reset")


def test_repeated_and_reordered_hints_deliver_everything_once(
    stage: Stage, make_accounts: MakeAccounts
) -> None:
    for account in make_accounts(HINT_BACKLOG):
        request_reset(account_ref=account, channels=["email"])
    waiting = stage.broker.messages("email")
    assert len(waiting) == HINT_BACKLOG
    repeated = waiting * 50
    random.Random(7).shuffle(repeated)
    stage.broker.put("email", *repeated)

    worker = stage.worker()
    tick_until_finished()
    final = final_rows()
    eventually(lambda: _everything_was_read(stage, worker), "every hint read")

    _assert_the_next_reset_arrives(stage, make_accounts(1)[0])
    tick_until_finished()
    assert_final_rows_kept(final)
    assert stage.provider.store.count() == HINT_BACKLOG + 1
    assert_invariants(stage.provider.store.list())


def test_a_hint_at_rows_that_are_finished_or_unknown_changes_nothing(
    stage: Stage, make_accounts: MakeAccounts
) -> None:
    worker = stage.worker()
    request_reset(account_ref=make_accounts(1)[0], channels=["email"])
    tick_until_finished()
    final = final_rows()
    row_id = Delivery.objects.get().pk

    hints.send("email", "email", [row_id])
    hints.send("sms", "sms", [row_id])
    hints.send("email", "email", [row_id + 1000])
    eventually(lambda: _everything_was_read(stage, worker), "every hint read")

    _assert_the_next_reset_arrives(stage, make_accounts(1)[0])
    tick_until_finished()
    assert_final_rows_kept(final)
    assert_invariants(stage.provider.store.list())


def test_senseless_arguments_are_dropped_without_an_error(stage: Stage, make_accounts: MakeAccounts) -> None:
    worker = stage.worker()
    for arguments in SENSELESS_ARGUMENTS:
        hints.send("email", *arguments)
    eventually(lambda: _everything_was_read(stage, worker), "every hint read")

    _assert_the_next_reset_arrives(stage, make_accounts(1)[0])
    tick_until_finished()
    assert worker.has_logged("malformed_hint_dropped")
    assert not worker.has_logged(TASK_FAILED)
    assert_invariants(stage.provider.store.list())


def test_senseless_bodies_harm_neither_the_worker_nor_the_reset(
    stage: Stage, make_accounts: MakeAccounts
) -> None:
    first, second = make_accounts(2)
    request_reset(account_ref=first, channels=["email"])
    (real,) = stage.broker.messages("email")
    stage.broker.put("email", *(hints.with_body(real, body) for body in SENSELESS_BODIES))

    worker = stage.worker()
    tick_until_finished()
    eventually(lambda: _everything_was_read(stage, worker), "every message read")

    _assert_the_next_reset_arrives(stage, second)
    tick_until_finished()
    assert worker.is_alive
    assert_invariants(stage.provider.store.list())


@pytest.mark.parametrize("garbage", [b"not json", b"null", b"{}"])
def test_what_is_no_message_at_all_costs_no_more_than_the_worker_that_reads_it(
    stage: Stage, make_accounts: MakeAccounts, garbage: bytes
) -> None:
    # Celery reconnects or ends when it pops such a thing, before any task of ours.
    stage.worker()
    stage.broker.put("email", garbage)
    eventually(lambda: not stage.broker.messages("email"), "the garbage read")
    stage.clear()
    request_reset(account_ref=make_accounts(1)[0], channels=["email"])

    worker = stage.worker()
    tick_until_finished()
    assert worker.is_alive
    assert_invariants(stage.provider.store.list())


def test_ten_clicks_on_a_backlog_make_one_intent_and_one_message_per_channel(
    stage: Stage, make_accounts: MakeAccounts
) -> None:
    impatient, *others = make_accounts(9)
    for account in others:
        request_reset(account_ref=account, channels=["email", "sms"])
    answers = [request_reset(account_ref=impatient, channels=["email", "sms"]) for _ in range(10)]

    assert len({answer.reference for answer in answers}) == 1
    assert ResetIntent.objects.filter(account_ref=impatient).count() == 1
    assert len(stage.broker.messages("email")) == len(stage.broker.messages("sms")) == HINT_BACKLOG

    stage.worker()
    tick_until_finished()
    assert set(Delivery.objects.values_list("state", flat=True)) == {DeliveryState.ACCEPTED}
    assert stage.provider.store.count("email") == stage.provider.store.count("sms") == 9
    assert_invariants(stage.provider.store.list())
