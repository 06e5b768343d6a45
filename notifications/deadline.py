"""A total wall-clock budget that goes on while the machine sleeps."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

Clock = Callable[[], float]


def boot_seconds() -> float:
    """Seconds on CLOCK_BOOTTIME where there is one, else the monotonic clock.

    CLOCK_MONOTONIC stands still during suspend on Linux, so a worker that sleeps
    through its lease would wake up believing it still had time.
    """
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class DeadlinePassed(Exception):
    """The submission's deadline passed."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on ``clock`` (seconds) after which nothing may be sent."""

    at: float
    clock: Clock = field(default=boot_seconds, repr=False)

    @classmethod
    def after(cls, seconds: float, clock: Clock = boot_seconds) -> Deadline:
        """The deadline ``seconds`` from now."""
        return cls(clock() + seconds, clock)

    def remaining(self) -> float:
        """Seconds left; zero or less once it passed."""
        return self.at - self.clock()

    def check(self) -> None:
        """Raise :class:`DeadlinePassed` once nothing is left."""
        if self.remaining() <= 0:
            raise DeadlinePassed
