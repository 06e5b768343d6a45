"""The boundary without a broker: claims on a clock, a thread per channel, and the recovery steps."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType

from django.db import close_old_connections

from notifications.channels import Channel
from resetdelivery import fallback, recovery, retention
from resetdelivery.conf import get_settings
from resetdelivery.delivery import deliver
from resetdelivery.exceptions import without_text
from resetdelivery.logs import get_logger
from resetdelivery.throttles.conversion import check_conversion

log = get_logger("resetdelivery.poller")

#: Between two looks at how many text messages lead to resets.
CONVERSION_SECONDS = 300.0
#: Between two looks at what is no longer of use.
PURGE_SECONDS = 600.0


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
        """One step of recovery, of purging, of arming and of every channel; how many deliveries were claimed.

        :class:`~resetdelivery.exceptions.StepFailed` if a step of it raised.
        """
        return without_text(self._round)

    def _round(self) -> int:
        self._recover()
        self._purge()
        fallback.arm_due()
        return sum(self._deliver(channel) for channel in self._settings.channels)

    def run(self) -> None:
        """Poll, each channel in its own thread so that a slow one holds up no other."""
        rounds = [self._channel_round(channel) for channel in self._settings.channels]
        threads = [
            threading.Thread(target=self._rounds, args=(step, self._poll_seconds()))
            for step in (fallback.arm_due, *rounds)
        ]
        threads.append(threading.Thread(target=self._rounds, args=(check_conversion, CONVERSION_SECONDS)))
        threads.append(threading.Thread(target=self._rounds, args=(self._purge, PURGE_SECONDS)))
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

    def _purge(self) -> None:
        retention.purge_limit_uses()

    def _recover(self) -> None:
        recovery.sweep()
        recovery.expire_overdue()
