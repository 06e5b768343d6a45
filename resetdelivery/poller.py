"""The boundary without a broker: claims on a clock, a thread per channel, and the recovery steps."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from functools import partial
from types import FrameType

from django.db import close_old_connections

from notifications.channels import Channel
from resetdelivery import fallback, upkeep
from resetdelivery.conf import get_settings
from resetdelivery.delivery import deliver
from resetdelivery.exceptions import without_text
from resetdelivery.logs import get_logger
from resetdelivery.throttles.conversion import check_conversion

log = get_logger("resetdelivery.poller")

#: Between two looks at how many text messages lead to resets.
CONVERSION_SECONDS = 300.0
#: What runs beside deliveries, each in a thread of its own, and the seconds between two runs of it.
UPKEEP: tuple[tuple[Callable[[], None], float], ...] = (
    (upkeep.roll_up, 10.0),
    (upkeep.export_traces, 10.0),
    (upkeep.purge, 600.0),
)


class Poller:
    """Rounds of claiming until stopped. An error in one round is logged and the next one comes."""

    def __init__(self) -> None:
        self._settings = get_settings()
        self._stopping = threading.Event()

    def stop(self, *_: object) -> None:
        """Finish what is being sent, then return from :meth:`run`."""
        self._stopping.set()

    def stop_on_signals(self) -> None:
        """Stop on SIGTERM and SIGINT."""
        handler: Callable[[int, FrameType | None], None] = self.stop
        signal.signal(signal.SIGTERM, handler)
        signal.signal(signal.SIGINT, handler)

    def run_once(self) -> int:
        """A step of all that :meth:`run` does; how many deliveries were claimed.

        :class:`~resetdelivery.exceptions.StepFailed` if a step of it raised.
        """
        return without_text(self._round)

    def _round(self) -> int:
        claimed: list[int] = []
        rounds = [partial(self._note_claimed, channel, claimed) for channel in self._settings.channels]
        _each(self._recover, fallback.arm_due, *rounds, *(step for step, _ in UPKEEP))
        return sum(claimed)

    def _note_claimed(self, channel: Channel, claimed: list[int]) -> None:
        claimed.append(self._deliver(channel))

    def run(self) -> None:
        """Poll, each channel in its own thread so that a slow one holds up no other."""
        rounds = [self._channel_round(channel) for channel in self._settings.channels]
        threads = [
            threading.Thread(target=self._rounds, args=(step, pause_seconds))
            for step, pause_seconds in (
                *((step, self._poll_seconds()) for step in (fallback.arm_due, *rounds)),
                (check_conversion, CONVERSION_SECONDS),
                *UPKEEP,
            )
        ]
        for thread in threads:
            thread.start()
        self._rounds(self._recover, self._settings.sweep_interval.total_seconds())
        for thread in threads:
            thread.join()

    def _channel_round(self, channel: Channel) -> Callable[[], object]:
        return lambda: self._deliver(channel)

    def _poll_seconds(self) -> float:
        return self._settings.poll_interval.total_seconds()

    def _rounds(self, step: Callable[[], object], pause_seconds: float) -> None:
        while not self._stopping.is_set():
            try:
                step()
            except Exception as error:
                log.error("poll_round_failed", error_class=type(error).__name__)
            finally:
                close_old_connections()
            self._stopping.wait(pause_seconds)

    def _deliver(self, channel: Channel) -> int:
        return deliver(channel, until=self._stopping.is_set, fill_at_once=True)

    def _recover(self) -> None:
        _each(upkeep.sweep, upkeep.expire_overdue)


def _each(*steps: Callable[[], object]) -> None:
    """Run the steps in order, each whatever became of those before it; then raise the first error."""
    first: Exception | None = None
    for step in steps:
        try:
            step()
        except Exception as error:
            if first:
                log.error("poll_round_failed", error_class=type(error).__name__)
            first = first or error
    if first:
        raise first
