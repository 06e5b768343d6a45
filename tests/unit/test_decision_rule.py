"""The arithmetic of the decision rule, by hand, by its properties, and against the code that retries."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from resetdelivery.domain import decision_rule
from resetdelivery.domain.decision_rule import (
    Course,
    largest,
    lost_hint_seconds,
    recovery_seconds,
    smallest,
)
from resetdelivery.domain.retry import RetryPolicy, backoff_seconds, full_jitter, retry_fits, still_useful

NOW = dt.datetime(2026, 3, 29, 0, 59, 30, tzinfo=dt.UTC)
#: The defaults of an email at the boundary of the broker, with one worker that dies.
DEFAULT = Course(
    life_seconds=900,
    rounding_seconds=1,
    admission_seconds=0,
    hint_seconds=1,
    queue_seconds=1,
    claim_seconds=0,
    recovery_seconds=42,
    failure_seconds=15,
    pause_seconds=30,
    wake_seconds=2,
    latency_seconds=2,
    tries=6,
    policy=RetryPolicy(),
)
SMALL = replace(
    DEFAULT,
    life_seconds=100,
    admission_seconds=3,
    queue_seconds=4,
    claim_seconds=5,
    recovery_seconds=0,
    failure_seconds=6,
    pause_seconds=0,
    wake_seconds=7,
    latency_seconds=8,
    policy=RetryPolicy(base_seconds=10, factor=3, cap_seconds=50, min_useful_seconds=20),
)


@pytest.mark.parametrize(
    ("course", "attempt", "starts", "done"),
    [
        (DEFAULT, 1, 45, 47),  # 1 + 1 + 1 + 42
        (DEFAULT, 2, 93, 95),  # and 15, 30 of a pause that is longer than the backoff, 2 + 1
        (DEFAULT, 3, 141, 143),  # and 15, 30, 3
        (DEFAULT, 4, 189, 191),  # and 15, 30, 3
        (DEFAULT, 5, 237, 239),  # and 15, 30, 3
        (DEFAULT, 6, 287, 289),  # and 15, 32 of backoff, 3
        (DEFAULT, 7, 365, 367),  # and 15, 60 at the cap, 3
        (SMALL, 1, 14, 22),  # 1 + 3 + 1 + 4 + 5
        (SMALL, 2, 46, 54),  # and 6, 10, 7 + 4 + 5
        (SMALL, 3, 98, 106),  # and 6, 30, 16
        (SMALL, 4, 170, 178),  # and 6, 50 at the cap, 16
    ],
)
def test_an_attempt_starts_after_all_that_may_go_wrong_before_it(
    course: Course, attempt: int, starts: float, done: float
) -> None:
    assert (course.start_seconds(attempt), course.needed_seconds(attempt)) == (starts, done)


@pytest.mark.parametrize(
    ("life", "fitting"),
    [
        (76, 0),
        (77, 1),  # done after 47, and 30 to be of use
        (124, 1),
        (125, 2),
        (172, 2),
        (173, 3),
        (220, 3),
        (221, 4),
        (268, 4),
        (269, 5),
        (318, 5),
        (319, 6),
        (9000, 6),  # no more than there are
    ],
)
def test_as_many_attempts_fit_as_are_done_while_they_help(life: float, fitting: int) -> None:
    course = replace(DEFAULT, life_seconds=life)
    assert (course.fitting, course.all_fit) == (fitting, fitting == 6)


def test_the_last_start_leaves_an_answer_and_time_to_use_the_link() -> None:
    assert DEFAULT.last_start_seconds == 900 - 30 - 2
    assert SMALL.last_start_seconds == 100 - 20 - 8


def test_a_dead_worker_costs_its_lease_a_sweep_and_all_over_again() -> None:
    assert recovery_seconds(lease_seconds=30, sweep_seconds=10, hint_seconds=1, pickup_seconds=3) == 44


def test_a_lost_hint_costs_the_grace_and_a_sweep() -> None:
    assert lost_hint_seconds(grace_seconds=15, sweep_seconds=10, hint_seconds=1) == 26


def test_nobody_looks_beyond_the_first_attempt_that_cannot_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def counting(policy: RetryPolicy, attempts: int) -> float:
        asked.append(attempts)
        return backoff_seconds(policy, attempts)

    monkeypatch.setattr(decision_rule, "backoff_seconds", counting)
    course = replace(DEFAULT, tries=100_000)
    assert (course.fitting, course.all_fit, len(course.shown)) == (13, False, 20)
    # Once for each attempt that fits, each time.
    assert asked == [*range(1, 14), *range(1, 14)]


# Milliseconds in whole numbers: no answer hangs on how a float is rounded.
millis = st.integers(min_value=0, max_value=60_000).map(lambda number: number / 1000)
TERMS = (
    *("rounding_seconds", "admission_seconds", "hint_seconds", "queue_seconds", "claim_seconds"),
    *("recovery_seconds", "failure_seconds", "pause_seconds", "wake_seconds", "latency_seconds"),
)


@st.composite
def courses(draw: st.DrawFn) -> Course:
    policy = RetryPolicy(
        base_seconds=draw(st.integers(min_value=0, max_value=10)),
        factor=draw(st.integers(min_value=1, max_value=3)),
        cap_seconds=draw(st.integers(min_value=0, max_value=120)),
        min_useful_seconds=draw(millis),
    )
    return Course(
        life_seconds=draw(st.integers(min_value=1, max_value=1500)),
        tries=draw(st.integers(min_value=1, max_value=8)),
        policy=policy,
        **{name: draw(millis) for name in TERMS},
    )


@given(courses(), st.sampled_from(TERMS), millis, st.integers(min_value=1, max_value=8))
def test_no_attempt_is_done_sooner_and_no_more_fit_when_anything_takes_longer(
    course: Course, name: str, more: float, attempt: int
) -> None:
    slower = replace(course, **{name: getattr(course, name) + more})
    assert slower.needed_seconds(attempt) >= course.needed_seconds(attempt)
    assert slower.fitting <= course.fitting


@given(courses(), st.integers(min_value=0, max_value=600))
def test_no_fewer_attempts_fit_into_a_longer_life(course: Course, more: int) -> None:
    assert replace(course, life_seconds=course.life_seconds + more).fitting >= course.fitting


@given(courses())
def test_the_attempts_that_fit_are_the_first_ones(course: Course) -> None:
    fit = [course.fits(number) for number in range(1, course.tries + 1)]
    assert fit == [True] * course.fitting + [False] * (course.tries - course.fitting)


def made(course: Course, policy: RetryPolicy) -> int:
    """How many attempts the code that retries would make, all draws at their worst."""
    at = NOW + seconds(course.first_start_seconds)
    expires_at = NOW + seconds(course.life_seconds)
    for number in range(1, course.tries + 1):
        if not still_useful(policy, now=at, expires_at=expires_at):
            return number - 1
        failed = at + seconds(course.failure_seconds)
        delay = max(full_jitter(backoff(policy, number), 1.0), course.pause_seconds)
        if not retry_fits(policy, now=failed, delay_seconds=delay, expires_at=expires_at):
            return number
        at = failed + seconds(delay + course.wake_seconds + course.pickup_seconds)
    return course.tries


def backoff(policy: RetryPolicy, attempts: int) -> float:
    """The formula of the design, written once more."""
    return min(policy.cap_seconds, policy.base_seconds * policy.factor ** (attempts - 1))


def seconds(number: float) -> dt.timedelta:
    return dt.timedelta(seconds=number)


@given(courses())
def test_as_many_attempts_fit_as_the_code_that_retries_would_make(course: Course) -> None:
    policy = replace(
        course.policy,
        expected_queue_delay_seconds=course.pickup_seconds,
        expected_latency_seconds=course.latency_seconds,
    )
    # On a tie to the last digit, sums of floats and of microseconds may differ.
    gaps = [abs(course.start_seconds(n) - course.last_start_seconds) for n in range(1, course.tries + 1)]
    assume(min(gaps) > 1e-5)
    assert made(course, policy) == course.fitting


@given(
    st.integers(min_value=-50, max_value=50),
    st.integers(min_value=-50, max_value=50),
    st.integers(min_value=-60, max_value=60),
)
def test_the_nearest_number_that_fits_is_found(low: int, high: int, bound: int) -> None:
    numbers = range(low, high + 1)
    assert largest(lambda n: n <= bound, low, high) == max((n for n in numbers if n <= bound), default=None)
    assert smallest(lambda n: n >= bound, low, high) == min((n for n in numbers if n >= bound), default=None)
