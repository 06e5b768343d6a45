"""What looks at a stranded row say of the sweep."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from resetdelivery.domain.states import DeliveryState
from resetdelivery.domain.verification import Course, Kind, Look, all_ended, swept_findings

S = DeliveryState
START = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)


def at(seconds: float) -> dt.datetime:
    return START + dt.timedelta(seconds=seconds)


def look(seconds: float, state: S, **fields: Any) -> Look:
    given = {
        "token": 0,
        "owner": "",
        "due_at": START,
        "lease_expires_at": None,
        "hinted_at": None,
        "finished_at": None,
        "reason": "",
    }
    return Look(at=at(seconds), state=state, **{**given, **fields})


def abandoned(*looks: Look) -> Course:
    stored = look(0, S.LEASED, token=1, owner="verify-recovery", lease_expires_at=at(1))
    return followed(Course(name="a", kind=Kind.LEASE_ABANDONED, stranded=stored, last=stored), *looks)


def lost(*looks: Look) -> Course:
    stored = look(0, S.PENDING, due_at=at(-16), hinted_at=at(-16))
    return followed(Course(name="b", kind=Kind.HINT_LOST, stranded=stored, last=stored), *looks)


def followed(course: Course, *looks: Look) -> Course:
    for one in looks:
        course = course.seen(one)
    return course


TAKEN = {"token": 2, "owner": "host:7"}
ENDED = {"token": 2, "finished_at": at(4), "reason": "unknown_account"}


def test_a_row_that_was_seen_at_each_step_keeps_the_first_time_of_each() -> None:
    course = abandoned(
        look(2, S.PENDING, token=1, hinted_at=at(1.9)),
        look(3, S.LEASED, **TAKEN, hinted_at=at(1.9)),
        look(5, S.CANCELLED, **ENDED, hinted_at=at(1.9)),
    )
    times = (course.put_back_at, course.hinted_at, course.taken_at, course.ended_at)
    assert times == (at(1.9), at(1.9), at(3), at(4))
    assert course.taken_by == "host:7"


def test_a_row_that_was_seen_only_at_its_end_was_put_back_as_its_token_rose() -> None:
    course = abandoned(look(5, S.CANCELLED, **ENDED))
    assert (course.put_back_at, course.taken_at, course.ended_at) == (at(4), at(4), at(4))


@pytest.mark.parametrize("state", [S.FAILED, S.EXPIRED, S.CANCELLED])
def test_a_row_that_the_sweep_ended_was_not_put_back(state: S) -> None:
    course = abandoned(look(2, state, token=1, finished_at=at(2)))
    assert (course.put_back_at, course.taken_at) == (None, None)


@pytest.mark.parametrize(
    ("first", "filled"),
    [
        (look(2, S.PENDING, due_at=at(-16), hinted_at=at(1.9)), False),
        (look(2, S.LEASED, token=1, due_at=at(-16), hinted_at=at(-16)), True),
    ],
)
def test_who_came_first_to_a_lost_hint_is_told_by_when_it_was_hinted_at(first: Look, filled: bool) -> None:
    course = lost(first, look(3, S.CANCELLED, token=1, hinted_at=first.hinted_at, finished_at=at(3)))
    assert course.filled is filled


def test_one_hint_of_the_sweeps_is_proof_enough_where_a_worker_took_the_others() -> None:
    hinted = lost(look(3, S.CANCELLED, token=1, hinted_at=at(2), finished_at=at(3)))
    filled = lost(look(3, S.CANCELLED, token=1, hinted_at=at(-16), finished_at=at(3)))
    (finding,) = [f for f in swept_findings([hinted, filled], swept=True) if "hints" in f.name]
    assert finding.ok
    assert finding.saw == "1 of 2; a worker that was at it anyhow took 1 before the sweep came"


def test_controls_are_not_waited_for() -> None:
    stored = look(0, S.PENDING, due_at=at(200))
    control = Course(name="d", kind=Kind.NOT_DUE, stranded=stored, last=stored)
    assert all_ended([abandoned(look(5, S.CANCELLED, **ENDED)), control])
    assert not all_ended([abandoned(), control])
