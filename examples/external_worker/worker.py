"""Claim, get the message, submit, report: one delivery after the other."""

from __future__ import annotations

import datetime as dt
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from examples.external_worker.boundary import Answer, Boundary, TryAgain
from notifications.deadline import Deadline, boot_seconds
from notifications.message import EmailMessage, Message, SmsMessage
from notifications.outcome import Outcome
from notifications.transport import Transport

log = logging.getLogger("external_worker")

LIMIT = 5
REPORT_SECONDS = 5.0


@dataclass(slots=True, kw_only=True)
class Worker:
    """One process of a client: ``transports`` are its own providers, by channel.

    ``lease_seconds`` is how long a batch is held before something must have happened to it.
    """

    boundary: Boundary
    transports: Mapping[str, Transport] = field(repr=False)
    worker_id: str
    lease_seconds: float
    clock: Callable[[], float] = boot_seconds

    def run_once(self) -> int:
        """Deliver what is due now; how many deliveries were claimed."""
        return sum(self._run_channel(channel) for channel in self.transports)

    def _run_channel(self, channel: str) -> int:
        claimed_at = self.clock()
        answer = self.boundary.post(
            "claim",
            worker_id=self.worker_id,
            limit=LIMIT,
            lease_seconds=self.lease_seconds,
            channel=channel,
        )
        if answer.status != 200:
            log.error("claim refused: %s %s", answer.status, answer.problem)
            return 0
        waiting: list[dict[str, Any]] = answer.content["deliveries"]
        for number, one in enumerate(waiting):
            if self.clock() - claimed_at > self.lease_seconds / 2:
                self._renew(waiting[number:])
                claimed_at = self.clock()
            self._deliver(channel, one["reference"], one["lease_token"])
        return len(waiting)

    def _renew(self, waiting: Sequence[Mapping[str, str]]) -> None:
        """Hold on to what is still to come. One that is gone meanwhile shows when its turn comes."""
        for one in waiting:
            self.boundary.post(
                f"{one['reference']}/renew",
                lease_token=one["lease_token"],
                lease_seconds=self.lease_seconds,
            )

    def _deliver(self, channel: str, reference: str, token: str) -> None:
        # Read before we ask: the deadline can only come out too early.
        asked_at = self.clock()
        answer = self.boundary.post(f"{reference}/message", lease_token=token)
        if answer.status != 200:
            # Somebody else's, or not to be sent any more: nothing of it is ours to do.
            log.info("no message: %s %s", answer.status, answer.problem)
            return
        deadline = Deadline(asked_at + answer.content["send_within_seconds"], self.clock)
        outcome = self.transports[channel].submit(message_of(answer), deadline)
        self._report(reference, token, outcome)

    def _report(self, reference: str, token: str, outcome: Outcome) -> None:
        """Say it again while no answer comes: the same outcome told twice is settled once."""
        gives_up_at = self.clock() + REPORT_SECONDS
        while True:
            try:
                answer = self.boundary.post(
                    f"{reference}/outcome",
                    lease_token=token,
                    outcome=outcome.kind.value,
                    reason=outcome.reason.value,
                    provider_reference=outcome.provider_reference,
                    retry_after_seconds=outcome.retry_after_seconds,
                )
            except TryAgain as later:
                if self.clock() + later.wait_seconds > gives_up_at:
                    # The sweep will take it for ambiguous, which is what it is to the project now.
                    raise
                time.sleep(later.wait_seconds)
            else:
                log.info(
                    "%s: %s %s", outcome.kind, answer.status, answer.content.get("state", answer.problem)
                )
                return


def message_of(answer: Answer) -> Message:
    """The message that was handed out, as this package's transports take it."""
    told = answer.content
    expires_at = dt.datetime.fromisoformat(told["expires_at"])
    if told["channel"] == "sms":
        return SmsMessage(
            to=told["to"],
            text=told["text"],
            segments=told["segments"],
            key=told["key"],
            reference=told["attempt_reference"],
            expires_at=expires_at,
        )
    return EmailMessage(
        **{name: told[name] for name in ("to", "subject", "text", "html", "message_id", "boundary")},
        date=dt.datetime.fromisoformat(told["date"]),
        reference=told["attempt_reference"],
        expires_at=expires_at,
    )
