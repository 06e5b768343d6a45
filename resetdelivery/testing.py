"""For a host project's own tests, where no commit happens and no worker runs.

def test_a_customer_gets_a_link(self):
    self.client.post("/forgot/", {"email": "buyer@example.com"})
    email, sms = deliver_now()
    self.client.get(email.link, follow=True)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from notifications.channels import Channel
from notifications.deadline import Deadline
from notifications.message import EmailMessage, Message
from notifications.outcome import Outcome
from notifications.testing import ScriptedTransport
from resetdelivery.conf import get_settings
from resetdelivery.delivery import deliver


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One message that a provider would have been given, and what the script answered."""

    channel: Channel
    message: Message = field(repr=False)
    outcome: Outcome

    @property
    def to(self) -> str:
        """The address or the number."""
        return self.message.to

    @property
    def text(self) -> str:
        """The words, without markup."""
        return self.message.text

    @property
    def subject(self) -> str:
        """The subject of an email; empty for an SMS."""
        return self.message.subject if isinstance(self.message, EmailMessage) else ""

    @property
    def link(self) -> str:
        """The first address in the text under ``RESET_BASE_URL``, or empty."""
        base = get_settings().reset_base_url.rstrip("/")
        found = re.search(re.escape(base) + r"/[^\s<>\"]*[^\s<>\".,;:!?)]", self.message.text)
        return found.group() if found else ""


def deliver_now(
    *, outcomes: Mapping[str, Iterable[Outcome]] | None = None, using: str | None = None
) -> list[Submission]:
    """Deliver everything that is due, here and in the current transaction; what was submitted.

    Channel by channel in the order of the settings, within one soonest expiry first. ``outcomes``
    are the provider's answers for a channel, in that order; after them, and without any, every
    message is accepted.
    A delivery that is not submitted (no phone number, account unknown) is not in the list, and a
    retry is due later than now. Configured transports are not even made, and no broker is asked.

    ``ValueError`` for outcomes of a channel that is not configured.
    """
    scripts = dict(outcomes or {})
    channels = get_settings().channels
    if unknown := scripts.keys() - set(channels):
        raise ValueError(f"outcomes names {min(unknown)!r}; configured are {', '.join(channels)}.")
    submitted: list[Submission] = []
    for channel in channels:
        transport = _Recorder(channel, scripts.get(channel, ()), submitted)
        deliver(channel, using=using, fill_at_once=True, transport=transport)
    return submitted


class _Recorder:
    """A scripted transport that notes which answer each message got."""

    name: ClassVar[str] = ScriptedTransport.name

    def __init__(self, channel: Channel, outcomes: Iterable[Outcome], submitted: list[Submission]) -> None:
        self._channel = channel
        self._script = ScriptedTransport(outcomes=outcomes)
        self._submitted = submitted

    def submit(self, message: Message, deadline: Deadline) -> Outcome:
        outcome = self._script.submit(message, deadline)
        self._submitted.append(Submission(channel=self._channel, message=message, outcome=outcome))
        return outcome

    def close(self) -> None:
        """Nothing is kept open."""
