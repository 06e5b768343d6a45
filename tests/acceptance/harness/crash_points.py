"""Named points at which a worker stops, so that a test can kill or freeze it just there.

An armed point is a named pipe in the worker's folder. The first thread that comes to it takes
the pipe away, under another name, and reads from it: it stays until the test lets it go on.
"""

from __future__ import annotations

import enum
import os
from dataclasses import dataclass
from pathlib import Path

from tests.acceptance.harness.waiting import eventually


class CrashPoint(enum.StrEnum):
    """Where a worker can be stopped, in the order of a delivery."""

    #: The message is gone from the broker, and nothing was done.
    POPPED = "popped"
    #: The row is leased, and no attempt is on record.
    CLAIMED = "claimed"
    #: The attempt is on record, and the provider heard nothing.
    MARKED = "marked"
    #: The provider answered, and nobody wrote that down.
    ACCEPTED = "accepted"
    #: Everything is written down, and the task still runs.
    SETTLED = "settled"
    #: The task is over.
    FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class CrashPoints:
    """One worker's points: armed and awaited by the test, met by the worker."""

    folder: Path

    def arm(self, point: CrashPoint) -> None:
        """The next thread that comes to ``point`` stops there."""
        os.mkfifo(self._armed(point))

    def is_reached(self, point: CrashPoint) -> bool:
        """Whether a thread came to ``point``."""
        return self._reached(point).exists()

    def wait_for(self, point: CrashPoint) -> None:
        """Return once a thread stands at ``point``."""
        eventually(lambda: self.is_reached(point), f"a worker at the point {point!r}")

    def release(self, point: CrashPoint) -> None:
        """Let the thread at ``point`` go on; it must stand there."""
        self._reached(point).open("wb").close()

    def meet(self, point: CrashPoint) -> None:
        """In the worker: stop here if ``point`` is armed and nobody else took it."""
        try:
            self._armed(point).rename(self._reached(point))
        except FileNotFoundError:
            return
        with self._reached(point).open("rb") as pipe:
            pipe.read()

    def _armed(self, point: CrashPoint) -> Path:
        return self.folder / f"{point}.armed"

    def _reached(self, point: CrashPoint) -> Path:
        return self.folder / f"{point}.reached"
