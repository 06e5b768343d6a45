"""Beat's ticks, made by the test itself, so that nothing but the test decides when."""

from __future__ import annotations

from collections.abc import Callable

from resetdelivery import recovery
from resetdelivery.domain.states import OPEN_STATES
from resetdelivery.models import Delivery
from tests.acceptance.harness.waiting import CEILING_SECONDS, eventually


def tick() -> None:
    """Everything that beat would start, once."""
    recovery.wake_due()
    recovery.sweep()
    recovery.expire_overdue()


def tick_until(fact: Callable[[], bool], what: str, *, seconds: float = CEILING_SECONDS) -> None:
    """Tick until ``fact()`` holds."""

    def tick_and_look() -> bool:
        tick()
        return fact()

    eventually(tick_and_look, what, seconds=seconds)


def tick_until_finished() -> None:
    """Tick until nothing is left that any step of ours could move on."""
    tick_until(all_finished, "every delivery finished")


def all_finished() -> bool:
    """Whether no delivery is open."""
    return not Delivery.objects.filter(state__in=OPEN_STATES).exists()
