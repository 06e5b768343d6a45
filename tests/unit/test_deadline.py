from __future__ import annotations

import pytest

from notifications.deadline import Deadline, DeadlinePassed, boot_seconds


class Clock:
    """A clock that stands at ``now`` until it is moved."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(("passed", "left"), [(0.0, 15.0), (14.5, 0.5), (15.0, 0.0), (20.0, -5.0)])
def test_a_deadline_says_what_is_left(passed: float, left: float) -> None:
    clock = Clock(100.0)
    deadline = Deadline.after(15, clock)
    clock.now += passed
    assert deadline.remaining() == left


def test_a_deadline_passes_at_its_very_moment() -> None:
    clock = Clock(100.0)
    deadline = Deadline.after(15, clock)
    clock.now = 114.999
    deadline.check()
    clock.now = 115.0
    with pytest.raises(DeadlinePassed):
        deadline.check()


def test_the_clock_only_goes_forward() -> None:
    first = boot_seconds()
    assert boot_seconds() >= first
