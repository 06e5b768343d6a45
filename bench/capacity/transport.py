"""A provider whose answers take as long as one is told, each its own time."""

from __future__ import annotations

import math
import random
import time
from typing import Any

from notifications.deadline import Deadline
from notifications.email.smtp import SmtpTransport
from notifications.message import Message
from notifications.outcome import Outcome


class ScatteredSmtp(SmtpTransport):
    """Real SMTP to a server that answers at once, behind log-normal times on the way there.

    ``latency_seconds`` is their mean, ``deviation_seconds`` their standard deviation.
    """

    def __init__(self, *, latency_seconds: float, deviation_seconds: float, **options: Any) -> None:
        super().__init__(**options)
        self._mean, self._deviation = latency_seconds, deviation_seconds
        self._random = random.Random()

    def submit(self, message: Message, deadline: Deadline) -> Outcome:
        """Wait, then submit."""
        if self._mean:
            time.sleep(self._seconds())
        return super().submit(message, deadline)

    def _seconds(self) -> float:
        variance = math.log1p((self._deviation / self._mean) ** 2)
        return self._random.lognormvariate(math.log(self._mean) - variance / 2, math.sqrt(variance))
