"""A step of the rollout and a request at one moment: whichever sender it finds is stored and told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from notifications.channels import Channel
from resetdelivery.cutover.steps import change
from resetdelivery.models import ChannelControl, ResetIntent
from resetdelivery.pseudonyms import lock_numbers
from resetdelivery.services import Admission, request_reset
from tests.interleavings.racing import CEILING_SECONDS, alone, holding, together, wait_until, waiting
from tests.senders import TABLE, move, senders_of

EMAIL = Channel.EMAIL
BOTH = ["email", "sms"]
Ask = Callable[[], Admission]
Asked = Callable[[], Admission]


def ask(account: Any) -> Admission:
    return request_reset(account_ref=str(account.pk), channels=["email"])


def step_back() -> None:
    change(EMAIL, mode="legacy", slice_per_mille=1000, who="anna")


def told_and_stored(answer: Admission) -> tuple[bool, dict[str, str]]:
    return EMAIL in answer.legacy_channels, senders_of(answer)


@contextmanager
def held_up(lock: str, params: list[int], *steps: Ask) -> Iterator[list[Asked]]:
    """Let the steps run into ``lock`` one after the other; their results, once the block is over."""
    with ThreadPoolExecutor(len(steps)) as pool, holding() as cursor:
        cursor.execute(lock, params)
        running = []
        for number, step in enumerate(steps, start=1):
            running.append(pool.submit(alone, step))
            wait_until(lambda number=number: waiting() == number)  # type: ignore[misc]
        yield [partial(one.result, CEILING_SECONDS) for one in running]


#: An admission that goes on to store comes to a stand here, and has read who sends.
BEFORE_STORING = f"LOCK TABLE {TABLE} IN SHARE MODE"


def test_a_step_that_is_not_committed_is_not_seen_and_not_waited_for(account: Any) -> None:
    with holding() as cursor:
        cursor.execute(f"UPDATE {ChannelControl._meta.db_table} SET mode = 'legacy'")
        assert told_and_stored(ask(account)) == (False, {"email": "pipeline"})
    assert told_and_stored(ask(account)) == (True, {"email": "legacy"})


def test_a_request_that_waited_for_its_account_finds_the_step_that_was_made_meanwhile(account: Any) -> None:
    lock = "SELECT pg_advisory_xact_lock(%s)"
    with held_up(lock, lock_numbers("account lock", str(account.pk)), partial(ask, account)) as (asked,):
        step_back()
    assert told_and_stored(asked()) == (True, {"email": "legacy"})


@pytest.mark.parametrize("mode", ["legacy", "shadow", "live"])
def test_a_request_that_has_read_who_sends_stores_and_tells_that(account: Any, mode: str) -> None:
    move(EMAIL, mode)
    sender = {"legacy": "legacy", "shadow": "shadow", "live": "pipeline"}[mode]
    with held_up(BEFORE_STORING, [], partial(ask, account)) as (asked,):
        move(EMAIL, "legacy" if mode == "live" else "live")
    assert told_and_stored(asked()) == (sender != "pipeline", {"email": sender})


def test_two_requests_with_a_step_between_them_have_each_its_own_sender(account: Any) -> None:
    with held_up(BEFORE_STORING, [], partial(ask, account), partial(ask, account)) as (first, second):
        step_back()
    assert told_and_stored(first()) == (False, {"email": "pipeline"})
    assert told_and_stored(second()) == (True, {"email": "legacy"})
    assert ResetIntent.objects.get(reference=first().reference).cancel_reason == "superseded"


@pytest.mark.parametrize("turn", range(3))
def test_whatever_order_requests_and_steps_take_no_intent_has_two_senders_or_none(
    make_account: Callable[..., Any], turn: int
) -> None:
    """Accounts of their own and one address that several share, while the channel goes back and forth."""
    for _ in range(3):
        make_account(email="family@shop.example")
    typed = ["family@shop.example", *(make_account().email for _ in range(3))]
    answers = [a for given in together(*[partial(asking, who) for who in typed], stepping) for a in given]
    for answer in answers:
        others = {channel for channel, sender in senders_of(answer).items() if sender != "pipeline"}
        assert {channel.value for channel in answer.legacy_channels} == (
            set() if answer.coalesced else others
        )
    told = [(a.reference, channel) for a in answers for channel in a.legacy_channels]
    assert len(set(told)) == len(told)


def asking(typed: str) -> list[Admission]:
    return [request_reset(submitted=typed, channels=BOTH) for _ in range(6)]


def stepping() -> list[Admission]:
    for n in range(9):
        move(EMAIL, ["live", "shadow", "legacy"][n % 3], 500)
    return []
