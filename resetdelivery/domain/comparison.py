"""Our part beside the existing sender's, delivery by delivery: what agrees, and what does not. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from resetdelivery.domain.quantiles import quantile
from resetdelivery.domain.reasons import DeliveryReason
from resetdelivery.domain.telemetry import DELAY_LABELS, QUEUE_DELAY_SECONDS, Ending, LegacyOutcome

#: In the place of our ending: a delivery that has none yet.
OPEN = "open"
#: In the place of what they told: they told nothing.
UNTOLD = ""
#: The same where no report is to be expected.
NOT_EXPECTED = "not_expected"

#: What it is called where they sent what we would not have sent.
_UNSENT = {
    Ending.FAILED: "we would have failed",
    Ending.EXPIRED: "it expired with us",
    Ending.CANCELLED: "we would have cancelled it",
}
#: What they did, where we would have sent.
_THEIRS = {LegacyOutcome.FAILED: "they failed", LegacyOutcome.NOT_SENT: "they did not send"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """How many deliveries ended with us as ``ours`` (why, if not sent) and were told as ``theirs``.

    ``ours`` is an :class:`~resetdelivery.domain.telemetry.Ending` or :data:`OPEN`, ``theirs`` a
    :class:`~resetdelivery.domain.telemetry.LegacyOutcome`, :data:`UNTOLD` or :data:`NOT_EXPECTED`.
    """

    ours: str
    theirs: str
    reason: str = ""
    number: int = 1

    @property
    def is_told(self) -> bool:
        """Whether both sides say whether it is sent: what is open or withheld says nothing of ours."""
        reported = self.theirs not in (UNTOLD, NOT_EXPECTED)
        return reported and (self.ours == Ending.SHADOWED or self.ours in _UNSENT)

    @property
    def is_left_to_them(self) -> bool:
        """Whether it is a later channel of a chain: each side goes by what became of its own first one."""
        return self.is_told and self.reason == DeliveryReason.NOT_NEEDED

    @property
    def is_compared(self) -> bool:
        """Whether the two sides speak of the same."""
        return self.is_told and not self.is_left_to_them

    @property
    def disagrees(self) -> bool:
        """Whether one side sent it, or would have, and the other did not. Two that do not send agree."""
        sent = self.theirs == LegacyOutcome.ACCEPTED
        return self.is_compared and (self.ours == Ending.SHADOWED) is not sent

    @property
    def words(self) -> str:
        """Of one that disagrees: what each side did."""
        if self.ours == Ending.SHADOWED:
            return f"we would have sent, {_THEIRS[LegacyOutcome(self.theirs)]}"
        return f"{_UNSENT[Ending(self.ours)]} ({self.reason}), they sent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One channel over a window.

    Of aggregates: ``admitted`` by authority; of the shadows that ended how many were ``claimed``,
    their ``endings``, the reasons (``refused``) of those that would not have been sent, and of the
    others the buckets of their ``delays`` and ``segments``; ``reported`` is what the existing sender
    told within the window. ``pairs`` are of the deliveries that ended within it.
    """

    channel: str
    admitted: Mapping[str, int]
    claimed: int
    endings: Mapping[str, int]
    refused: Mapping[str, int]
    delays: Mapping[str, int]
    segments: Mapping[str, int]
    reported: Mapping[str, int]
    pairs: Sequence[Pair]

    @property
    def would_send(self) -> int:
        """Shadows that would have been sent."""
        return self.endings.get(Ending.SHADOWED, 0)

    @property
    def not_reported(self) -> int:
        """Deliveries that ended and of which the existing sender told nothing, though it was told of them."""
        return sum(self.untold.values())

    @property
    def untold(self) -> Mapping[str, int]:
        """Those of them by why we would not have sent them, or by our ending where we would."""
        found = Counter[str]()
        for one in self.pairs:
            if one.theirs == UNTOLD and one.ours != OPEN:
                found[one.reason if one.ours in _UNSENT and one.reason else one.ours] += one.number
        return _most_first(found)

    @property
    def left_to_them(self) -> int:
        """Deliveries that are not compared, as the existing sender decides about its own next channel."""
        return sum(one.number for one in self.pairs if one.is_left_to_them)

    @property
    def compared(self) -> int:
        """Deliveries of which both sides say whether they are sent."""
        return sum(one.number for one in self.pairs if one.is_compared)

    @property
    def would_send_of_compared(self) -> int:
        """Those of them that we would have sent."""
        return sum(one.number for one in self.pairs if one.is_compared and one.ours == Ending.SHADOWED)

    @property
    def sent_of_compared(self) -> int:
        """Those of them that the existing sender sent."""
        accepted = LegacyOutcome.ACCEPTED
        return sum(one.number for one in self.pairs if one.is_compared and one.theirs == accepted)

    @property
    def disagreements(self) -> Mapping[str, int]:
        """In words, with how many there are of each, the most first."""
        found = Counter[str]()
        for one in self.pairs:
            if one.disagrees:
                found[one.words] += one.number
        return _most_first(found)

    @property
    def disagreeing(self) -> int:
        """Deliveries on which the two sides disagree."""
        return sum(self.disagreements.values())

    def is_within(self, tolerated_per_mille: int) -> bool:
        """Whether no more of the compared disagree than that; so it is where nothing is compared."""
        return self.disagreeing * 1000 <= tolerated_per_mille * self.compared

    def delay_seconds(self, share: float) -> float | None:
        """The wait from due that ``share`` of those that would be sent did not exceed.

        ``None`` without any, and where it is above the last bound.
        """
        return quantile(share, [self.delays.get(label, 0) for label in DELAY_LABELS], QUEUE_DELAY_SECONDS)

    def table(self) -> Mapping[str, Mapping[str, int]]:
        """The pairs by ours and theirs, without reasons."""
        found: dict[str, Counter[str]] = {}
        for one in self.pairs:
            found.setdefault(one.ours, Counter())[one.theirs] += one.number
        return found


def _most_first(found: Mapping[str, int]) -> Mapping[str, int]:
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))
