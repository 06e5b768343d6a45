"""The three ways from a committed intent to the core, behind one word: carry on until finished."""

from __future__ import annotations

import enum

from resetdelivery.poller import Poller
from tests.acceptance.harness.stage import Stage
from tests.acceptance.harness.ticks import all_finished, tick
from tests.acceptance.harness.waiting import eventually


class Boundary(enum.StrEnum):
    """The values of ``RESETDELIVERY["DISPATCH"]``."""

    BROKER = "broker"
    DATABASE = "database"
    INLINE = "inline"

    def start(self, stage: Stage) -> None:
        """Start the process that delivers, where it is not the caller's own."""
        if self is Boundary.BROKER:
            stage.worker()
        elif self is Boundary.DATABASE:
            stage.poller()

    def carry_on(self) -> None:
        """What time does by itself: beat's ticks, the poller's own rounds, or one more round here."""
        if self is Boundary.BROKER:
            tick()
        elif self is Boundary.INLINE:
            Poller().run_once()

    def carry_on_until_finished(self) -> None:
        """Carry on until no delivery is open."""

        def finished() -> bool:
            self.carry_on()
            return all_finished()

        eventually(finished, f"every delivery finished through {self}")
