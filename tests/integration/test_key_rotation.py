"""Keys are changed in the order that docs/security.md gives, on web processes and workers one after the
other: no link dies and no reset is cancelled on the way. The wrong orders are shown to fail.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.test import override_settings

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery.delivery import deliver
from resetdelivery.links import ResetTokenGenerator
from resetdelivery.models import Delivery, ResetIntent
from resetdelivery.services import request_reset
from tests.integration.conftest import Settings
from tests.settings import RESETDELIVERY

OLD, NEW = "the old key " * 3, "the new key " * 3

#: The documented order: what web processes and workers are set to, in turn.
STEPS = [
    ([OLD], [OLD]),
    ([OLD, NEW], [OLD]),
    ([OLD, NEW], [OLD, NEW]),
    ([OLD, NEW], [NEW, OLD]),
    ([NEW, OLD], [NEW, OLD]),
]
#: Once the last link or digest that the old key made is of no more use.
LAST_STEP = ([NEW], [NEW])
PAIRS = [*itertools.combinations(range(len(STEPS)), 2), *((n, n) for n in range(len(STEPS)))]

NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
LIFETIME = dt.timedelta(hours=24)


def linked(keys: list[str]) -> AbstractContextManager[Any]:
    """A process that is set to these link keys."""
    return override_settings(RESETDELIVERY={**RESETDELIVERY, "LINK_KEYS": keys})


def at(moment: dt.datetime) -> ResetTokenGenerator:
    return ResetTokenGenerator(email_field="email", phone_field="phone", clock=lambda: moment)


@pytest.mark.parametrize(("made", "used"), sorted(PAIRS))
def test_a_link_that_is_sent_at_one_step_works_at_every_later_one(account: Any, made: int, used: int) -> None:
    with linked(STEPS[made][1]):
        token = at(NOW).make_token_until(account, NOW + LIFETIME)
    with linked(STEPS[used][0]):
        assert at(NOW).check_token(account, token)


def test_every_link_of_the_old_key_has_expired_once_it_is_dropped(account: Any) -> None:
    """The last of them is made just before the workers sign with the new one."""
    with linked(STEPS[2][1]):
        token = at(NOW).make_token_until(account, NOW + LIFETIME)
    last = NOW + LIFETIME
    with linked(STEPS[-1][0]):
        assert at(last - dt.timedelta(microseconds=1)).check_token(account, token)
        assert not at(last).check_token(account, token)
    with linked(LAST_STEP[0]):
        assert not at(last).check_token(account, token)


def test_links_of_the_new_key_outlive_the_old_one(account: Any) -> None:
    with linked(STEPS[3][1]):
        token = at(NOW).make_token_until(account, NOW + LIFETIME)
    with linked(LAST_STEP[0]):
        assert at(NOW).check_token(account, token)


@pytest.mark.parametrize(
    ("worker", "web"),
    [
        pytest.param([NEW, OLD], [OLD], id="workers sign with the new key before the web knows it"),
        pytest.param([OLD, NEW], [NEW], id="the old key is dropped while its links live"),
        pytest.param([NEW], [OLD], id="both at once, the workers first"),
    ],
)
def test_in_another_order_links_are_dead_on_arrival(account: Any, worker: list[str], web: list[str]) -> None:
    with linked(worker):
        token = at(NOW).make_token_until(account, NOW + LIFETIME)
    with linked(web):
        assert not at(NOW).check_token(account, token)


@pytest.fixture
def process(change: Settings) -> Callable[[list[str]], None]:
    """Makes this process one that is set to these pseudonym keys; each keeps its id as it moves."""

    def become(keys: list[str]) -> None:
        change(PSEUDONYM_KEYS=named(keys))

    return become


def named(keys: list[str]) -> Mapping[str, str]:
    return {{OLD: "1", NEW: "2"}[key]: key for key in keys}


def ask(account: Any, key: str) -> Any:
    return request_reset(account_ref=str(account.pk), channels=["email"], idempotency_key=key)


@pytest.mark.parametrize(("asked", "later"), sorted(PAIRS))
def test_a_reset_that_is_asked_for_at_one_step_is_sent_and_recognised_at_every_later_one(
    account: Any, email: ScriptedTransport, process: Callable[[list[str]], None], asked: int, later: int
) -> None:
    process(STEPS[asked][0])
    first = ask(account, "one key")
    process(STEPS[later][0])
    assert ask(account, "one key").replayed
    joined = ask(account, "another key")
    assert (joined.coalesced, joined.reference) == (True, first.reference)
    process(STEPS[later][1])
    deliver(Channel.EMAIL)
    assert Delivery.objects.get().state == "accepted"


def test_a_reset_of_the_new_key_outlives_the_old_one(
    account: Any, email: ScriptedTransport, process: Callable[[list[str]], None]
) -> None:
    process(STEPS[-1][0])
    ask(account, "one key")
    process(LAST_STEP[0])
    assert ask(account, "one key").replayed
    process(LAST_STEP[1])
    deliver(Channel.EMAIL)
    assert Delivery.objects.get().state == "accepted"


@pytest.mark.parametrize(
    ("web", "worker"),
    [
        pytest.param([NEW, OLD], [OLD], id="the web makes digests that the workers cannot read"),
        pytest.param([OLD, NEW], [NEW], id="the old key is dropped while its resets are open"),
    ],
)
def test_in_another_order_open_resets_are_cancelled(
    account: Any,
    email: ScriptedTransport,
    process: Callable[[list[str]], None],
    web: list[str],
    worker: list[str],
) -> None:
    process(web)
    ask(account, "one key")
    process(worker)
    deliver(Channel.EMAIL)
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.reason) == ("cancelled", "account_changed")


def test_a_key_that_is_dropped_too_soon_makes_a_replay_a_second_reset(
    account: Any, process: Callable[[list[str]], None]
) -> None:
    process([OLD, NEW])
    ask(account, "one key")
    process([NEW])
    assert not ask(account, "one key").replayed
    assert ResetIntent.objects.count() == 2
