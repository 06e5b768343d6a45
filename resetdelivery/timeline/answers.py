"""Was it sent, and if not, why not: one answer per channel, with the code that it rests on."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from notifications.channels import Channel
from resetdelivery.domain.states import OPEN_STATES, DeliveryState
from resetdelivery.domain.telemetry import FirstHint
from resetdelivery.models import Attempt, Delivery
from resetdelivery.timeline.words import in_words


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Where one channel stands, in words; ``reason`` is the code behind them, empty where there is none."""

    channel: Channel
    state: DeliveryState
    reason: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A delivery with what an answer needs beside it: attempts by number, and who rests.

    ``paused`` are the channels that send nothing now, ``keep_attempts`` is how long attempts are kept.
    """

    delivery: Delivery
    attempts: Sequence[Attempt]
    paused: Collection[str]
    keep_attempts: dt.timedelta

    @property
    def state(self) -> DeliveryState:
        return DeliveryState(self.delivery.state)

    @property
    def last(self) -> Attempt | None:
        """The newest attempt that is stored still."""
        return self.attempts[-1] if self.attempts else None

    @property
    def forgotten(self) -> bool:
        """Whether it had attempts and none of them is stored any more."""
        return not self.attempts and bool(self.delivery.attempts or self.delivery.outcome)


def answer(found: Found) -> Answer:
    """The answer for one channel."""
    return Answer(
        channel=Channel(found.delivery.channel),
        state=found.state,
        reason=found.delivery.reason,
        text=" ".join([_first(found), *_notes(found)]),
    )


def _first(found: Found) -> str:
    delivery = found.delivery
    way = f"by {delivery.channel}{_tries(found)}"
    if found.state is DeliveryState.DELIVERED:
        return f"Delivered {way}: the provider says that it arrived."
    if found.state is DeliveryState.ACCEPTED:
        return f"Sent {way}. The provider accepted it; no receipt says that it arrived."
    if found.state in OPEN_STATES:
        return _so_far(found, way)
    if delivery.outcome == "accepted":
        return f"Sent {way}, and it did not arrive: {in_words(delivery.reason)}."
    if delivery.outcome == "ambiguous":
        return f"Perhaps sent {way}, the provider may have it. It ended there: {in_words(delivery.reason)}."
    return f"Not sent {way}: {in_words(delivery.reason)}."


def _so_far(found: Found, way: str) -> str:
    again = f" again, as {in_words(found.delivery.reason)}" if found.delivery.reason else ""
    return {
        DeliveryState.WAITING: f"Not sent yet {way}: it waits for the channel before it.",
        DeliveryState.PENDING: f"Not sent yet {way}: it is due{again}.",
        DeliveryState.LEASED: f"Not sent yet {way}: a worker has taken it.",
        DeliveryState.SUBMITTING: f"Just being sent by {found.delivery.channel}: {_running(found)}.",
    }[found.state]


def _running(found: Found) -> str:
    return f"attempt {found.last.number} is under way" if found.last else "its attempt is under way"


def _tries(found: Found) -> str:
    number = len(found.attempts) or found.delivery.attempts
    if not number:
        return ""
    return f" after {number} attempt{'s' if number > 1 else ''}"


def _notes(found: Found) -> Iterator[str]:
    """What makes the answer's first sentence understood."""
    delivery, last = found.delivery, found.last
    if found.forgotten:
        yield f"Its attempts are deleted: they are kept for {lasting(found.keep_attempts)}."
    if delivery.suppressed and found.state in OPEN_STATES:
        yield f"It is not to be sent: {in_words(delivery.suppressed)}."
    if last and last.reason not in {"", "ok", delivery.reason} and found.state is not DeliveryState.DELIVERED:
        yield f"The last attempt: {in_words(last.reason)}."
    if found.state in _MISSED and not delivery.lease_token:
        yield f"No worker ever took it.{_HINTS.get(delivery.first_hint, '')}"
    yield from _lost_claims(found)
    if found.state in OPEN_STATES and delivery.channel in found.paused:
        yield "The channel is paused and sends nothing."


#: Where it matters that nobody came for it.
_MISSED = frozenset({DeliveryState.PENDING, DeliveryState.EXPIRED})
_HINTS = {
    FirstHint.PUBLISHED.value: " Its hint was published (published).",
    FirstHint.SUPPRESSED.value: " Its hint was left out, as enough hints stood in the queue (suppressed).",
    FirstHint.FAILED.value: " Its hint was not published, as the broker did not take it (failed).",
}


def _lost_claims(found: Found) -> Iterator[str]:
    """How often workers took it, where that is more often than attempts and one more look explain."""
    claims = found.delivery.lease_token
    with_attempt = len({attempt.token for attempt in found.attempts})
    if not found.forgotten and claims > with_attempt + 1:
        yield (
            f"Workers took it {claims} times, and {claims - with_attempt} times no attempt came of it: "
            "they gave it back, ended it or died."
        )


def lasting(span: dt.timedelta) -> str:
    """A duration in its largest whole unit."""
    for seconds, unit in ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
        number, rest = divmod(span.total_seconds(), seconds)
        if number and not rest:
            return f"{number:.0f} {unit}{'s' if number > 1 else ''}"
    return f"{span.total_seconds()} seconds"
