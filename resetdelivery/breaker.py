"""A breaker before a server that may be away: one caller pays for finding out, the others do not."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Breaker:
    """After a failure, fails at once for ``pause_seconds`` without touching the network.

    When the pause is over, one caller tries while the others go on failing at once: a server that
    is still away costs one caller its time, and not every thread.
    """

    def __init__(self, pause_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._pause_seconds = pause_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._try_again_at: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether calls fail at once."""
        return self._try_again_at is not None and self._clock() < self._try_again_at

    def enter(self) -> bool:
        """Whether the caller may try; after a failure, one caller for each pause."""
        with self._lock:
            if self.is_open:
                return False
            if self._try_again_at is not None:
                self._try_again_at = self._clock() + self._pause_seconds
            return True

    def trip(self) -> None:
        """Fail at once from now on, for the pause."""
        with self._lock:
            self._try_again_at = self._clock() + self._pause_seconds

    def reset(self) -> None:
        """Let every call through again."""
        with self._lock:
            self._try_again_at = None
