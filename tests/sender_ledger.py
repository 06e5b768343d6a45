"""Who was allowed to send what, kept in plain Python beside the code that decides it.

A caller's existing sender sends exactly what it is told, to every account that the request means. Ours
may send what is on record as an attempt. For each reset and channel only one of the two may ever be,
and an existing sender once.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from notifications.channels import Channel
from notifications.message import Message
from resetdelivery.domain.states import Authority
from resetdelivery.models import Attempt, Delivery, ResetIntent
from resetdelivery.services import Admission
from tests.senders import number_of


@dataclass(kw_only=True)
class Stand:
    """How a channel stands: mode, slice, and since which attempt it is paused."""

    mode: str = "live"
    size: int = 1000
    paused_after: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What a delivery was at its admission."""

    intent: int
    channel: Channel
    authority: Authority


@dataclass(kw_only=True)
class Ledger:
    """All that was asked, told and marked. ``met`` counts what the orders came across."""

    stands: Mapping[Channel, Stand] = field(default_factory=lambda: {c: Stand() for c in Channel})
    rows: dict[int, Row] = field(default_factory=dict)
    told: Counter[tuple[int, Channel]] = field(default_factory=Counter)
    attempts: dict[uuid.UUID, int] = field(default_factory=dict)
    owed: set[tuple[int, Channel]] = field(default_factory=set)
    met: Counter[str] = field(default_factory=Counter)

    def expected(self, refs: Sequence[str], channels: Sequence[Channel], strategy: str) -> dict[Channel, str]:
        """Whose a request's deliveries are now, worked out from how the channels stand."""
        number = number_of(*refs)
        own = {c: _sender(self.stands[c], number) for c in channels}
        if strategy == "all" or set(own.values()) == {"pipeline"}:
            return own
        return {c: "shadow" if sender == "pipeline" else sender for c, sender in own.items()}

    def admitted(
        self, answer: Admission, serving: Sequence[ResetIntent], expected: Mapping[Channel, str]
    ) -> None:
        """An answer that is no replay; ``serving`` are its intents, one per account, new or joined."""
        owed = set()
        for intent in serving:
            for row in intent.deliveries.filter(channel__in=expected):
                channel = Channel(row.channel)
                assert row.authority == expected[channel], "A sender that the channel does not have today."
                is_new = row.pk not in self.rows
                self.met["joined"] += not is_new
                self.rows.setdefault(
                    row.pk, Row(intent=intent.pk, channel=channel, authority=Authority(row.authority))
                )
                if is_new and row.authority != "pipeline" and not (intent.cancel_reason or row.suppressed):
                    owed.add((intent.pk, channel))
        self._tell(answer, serving, owed)

    def _tell(
        self, answer: Admission, serving: Sequence[ResetIntent], owed: set[tuple[int, Channel]]
    ) -> None:
        named = set(answer.legacy_channels)
        assert not (answer.coalesced and named), "Told of what it was told before."
        assert named <= {channel for _, channel in owed}, "Told of what is not to be sent."
        for channel in answer.legacy_channels:
            for intent in serving:
                self.told[intent.pk, channel] += 1
                assert self.told[intent.pk, channel] == 1, "The existing sender was told twice."
                self.met["told"] += 1
        assert all(self.told[one] == 1 for one in owed), "Nobody was told."
        self.owed |= owed

    def replayed(self, answer: Admission) -> None:
        """An answer that was given before."""
        assert answer.legacy_channels == (), "The existing sender was told again by a replay."
        self.met["replayed"] += 1

    def look(self, submitted: Sequence[Message]) -> None:
        """Compare what is stored, and what our transports were given, with what is allowed."""
        for attempt in Attempt.objects.select_related("delivery").exclude(reference__in=self.attempts):
            self._mark(attempt)
        names = [uuid.UUID(message.reference) for message in submitted]
        assert set(names) <= set(self.attempts), "Submitted without an attempt on record."
        assert len(set(names)) == len(names), "One attempt was submitted twice."
        for row in Delivery.objects.all():
            was = self.rows[row.pk].authority
            assert row.authority == was, "A delivery's sender was changed."
            self.met[f"{row.authority} {row.state}"] += 1
            if was is not Authority.PIPELINE:
                assert (row.attempts, row.state in _OURS) == (0, False)

    def _mark(self, attempt: Attempt) -> None:
        row = self.rows[attempt.delivery_id]
        self.attempts[attempt.reference] = attempt.delivery_id
        self.met["marked"] += 1
        assert row.authority is Authority.PIPELINE, "Ours sends what is an existing sender's."
        assert not self.told[row.intent, row.channel], "Two senders for one reset."
        assert attempt.remaining_seconds > 0, "Marked after its expiry."
        since = self.stands[row.channel].paused_after
        assert since is None or attempt.pk <= since, "Marked in a paused channel."

    def close(self) -> None:
        """At the end: every reset and channel that was to be sent had one sender."""
        for row in self.rows.values():
            told = self.told[row.intent, row.channel]
            if row.authority is Authority.PIPELINE:
                assert told == 0
            else:
                assert told == 1 or (row.intent, row.channel) not in self.owed


_OURS = {"submitting", "accepted", "delivered"}


def _sender(stand: Stand, number: int) -> str:
    if stand.mode != "live":
        return stand.mode
    return "pipeline" if number < stand.size else "shadow"
