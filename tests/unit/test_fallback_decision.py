"""For each state of the first channel: what the second does, and when."""

from __future__ import annotations

import itertools

import pytest

from resetdelivery.domain.fallback import Before, follow, is_enough
from resetdelivery.domain.states import TRANSITIONS, Authority, DeliveryState

S = DeliveryState

WAITS = None
NOT_NEEDED = (S.CANCELLED, "not_needed")


def armed(reason: str) -> tuple[S, str]:
    return S.PENDING, reason


#: The first channel's state: what the second does before its arm time, and once that has come.
WITHOUT_RECEIPTS = {
    S.WAITING: (WAITS, WAITS),
    S.PENDING: (WAITS, armed("unconfirmed")),
    S.LEASED: (WAITS, armed("unconfirmed")),
    S.SUBMITTING: (WAITS, armed("unconfirmed")),
    S.ACCEPTED: (NOT_NEEDED, NOT_NEEDED),
    S.DELIVERED: (NOT_NEEDED, NOT_NEEDED),
    S.FAILED: (armed("failed"), armed("failed")),
    S.EXPIRED: (armed("expired"), armed("expired")),
    S.CANCELLED: ((S.CANCELLED, "account_changed"), (S.CANCELLED, "account_changed")),
    S.WITHHELD: (NOT_NEEDED, NOT_NEEDED),
    S.SHADOWED: (NOT_NEEDED, NOT_NEEDED),
}
WITH_RECEIPTS = {**WITHOUT_RECEIPTS, S.ACCEPTED: (WAITS, armed("unconfirmed"))}

TWO_FLAGS = list(itertools.product([False, True], repeat=2))

SENDERS = {S.WITHHELD: Authority.LEGACY, S.SHADOWED: Authority.SHADOW}


def first(state: S, *, paused: bool = False, gives_receipts: bool = False) -> Before:
    return Before(
        state=state,
        reason="account_changed" if state is S.CANCELLED else "",
        authority=SENDERS.get(state, Authority.PIPELINE),
        paused=paused,
        gives_receipts=gives_receipts,
    )


def taken(before: Before, *, due: bool = False, fits: bool = True) -> tuple[S, str] | None:
    step = follow(before, due=due, fits=fits)
    return None if step is None else (step.state, step.reason)


def test_the_tables_have_a_line_for_each_state() -> None:
    assert set(WITHOUT_RECEIPTS) == set(WITH_RECEIPTS) == set(S)


@pytest.mark.parametrize("state", S)
def test_what_the_second_does_where_acceptance_is_the_last_word(state: S) -> None:
    before = first(state)
    assert (taken(before), taken(before, due=True)) == WITHOUT_RECEIPTS[state]


@pytest.mark.parametrize("state", S)
def test_what_the_second_does_where_receipts_come(state: S) -> None:
    before = first(state, gives_receipts=True)
    assert (taken(before), taken(before, due=True)) == WITH_RECEIPTS[state]


@pytest.mark.parametrize("state", S)
def test_a_pause_arms_only_behind_what_was_not_sent(state: S) -> None:
    paused, running = taken(first(state, paused=True)), taken(first(state))
    assert paused == (armed("paused") if state in {S.PENDING, S.LEASED} else running)


@pytest.mark.parametrize("state", S)
@pytest.mark.parametrize("authority", [Authority.LEGACY, Authority.SHADOW])
def test_a_channel_that_another_sends_never_arms_the_next(state: S, authority: Authority) -> None:
    before = Before(state=state, authority=authority, paused=True)
    assert taken(before, due=True) == NOT_NEEDED


@pytest.mark.parametrize("state", S)
@pytest.mark.parametrize(("due", "receipts"), TWO_FLAGS)
def test_nothing_is_armed_that_can_no_longer_help(state: S, due: bool, receipts: bool) -> None:
    before = first(state, paused=True, gives_receipts=receipts)
    useful, useless = taken(before, due=due), taken(before, due=due, fits=False)
    assert useless == (NOT_NEEDED if useful and useful[0] is S.PENDING else useful)


@pytest.mark.parametrize("state", S)
@pytest.mark.parametrize(("due", "receipts"), TWO_FLAGS)
def test_every_step_is_one_that_a_waiting_delivery_may_take(state: S, due: bool, receipts: bool) -> None:
    step = follow(first(state, gives_receipts=receipts), due=due, fits=True)
    assert step is None or step.state in TRANSITIONS[S.WAITING]


@pytest.mark.parametrize("state", S)
@pytest.mark.parametrize("receipts", [False, True])
def test_only_arrival_is_enough_or_acceptance_where_nothing_more_is_ever_said(
    state: S, receipts: bool
) -> None:
    expected = state is S.DELIVERED or (state is S.ACCEPTED and not receipts)
    assert is_enough(first(state, gives_receipts=receipts)) is expected
