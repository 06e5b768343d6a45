"""Who of a channel's providers sends which delivery of a wave, as their circuits stand now."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from django.db import connections

from notifications.channels import Channel
from resetdelivery.claims import Claimed, Ready, circuits
from resetdelivery.clock import database_now
from resetdelivery.domain.circuit import Circuit
from resetdelivery.domain.decisions import Verdict
from resetdelivery.domain.failover import Candidate, Circuits, Lineup, Plan, plan
from resetdelivery.domain.reasons import DeliveryReason
from resetdelivery.domain.states import DeliveryState

#: A text message that only one provider may send again, and that one is configured no more.
STRANDED = Verdict(state=DeliveryState.FAILED, reason=DeliveryReason.PROVIDER_REMOVED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one provider gets of a wave; ``probe``: one delivery, to see whether it is back."""

    provider: str
    ready: Sequence[Ready]
    probe: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Assigned:
    """A wave, shared out.

    ``postponed`` holds the ids that nobody can send before the moment given; ``stranded`` what
    nobody ever can.
    """

    wave: Sequence[Ready]
    shares: Sequence[Share]
    postponed: Mapping[int, dt.datetime] = field(default_factory=dict)
    stranded: Sequence[tuple[Claimed, Verdict]] = ()

    def not_among(self, ids: Collection[int]) -> list[Claimed]:
        """What of the wave is neither in ``ids`` nor at its end."""
        ended = {claimed.id for claimed, _ in self.stranded}
        return [one.claimed for one in self.wave if one.claimed.id not in ended.union(ids)]


def assign(
    channel: Channel, wave: Sequence[Ready], lineup: Lineup, *, probe_seconds: float, using: str
) -> Assigned:
    """Share out ``wave``; the probes in it are ours alone for ``probe_seconds``."""
    connection = connections[using]
    candidates = [
        Candidate(id=one.claimed.id, channel=channel, may_have_it=one.claimed.may_have_it) for one in wave
    ]
    ours: dict[str, Circuit] = {}
    while True:
        # What we are to probe looks open to everybody now, but not to us.
        known = _read(channel, using) | ours
        found = plan(candidates, lineup.order, known, now=_now(wave, known, using))
        wanted = [name for name in found.probes if name not in ours]
        won = [n for n in wanted if circuits.begin_probe(connection, channel, n, probe_seconds)]
        ours |= {name: known[name] for name in won}
        if len(won) == len(wanted):
            break
    for name in ours.keys() - found.probes.keys():
        return_probe(channel, name, using=using)
    return _assigned(wave, found, soonest_look(wave, lineup))


def soonest_look(wave: Sequence[Ready], lineup: Lineup) -> dt.datetime:
    """When to look again at what is postponed, though a probe's lease may say later.

    The lease is no promise: whoever probes may be back with good news in a moment.
    """
    return wave[0].claimed.claimed_at + dt.timedelta(seconds=lineup.policy.pause_seconds)


def return_probe(channel: Channel, provider: str, *, using: str) -> None:
    """Let somebody else probe: ours was not sent."""
    circuits.return_probe(connections[using], channel, provider)


def _read(channel: Channel, using: str) -> dict[str, Circuit]:
    with connections[using].cursor() as cursor:
        return circuits.read(cursor, channel)


def _now(wave: Sequence[Ready], known: Circuits, using: str) -> dt.datetime:
    """The database's time; where every circuit is closed nobody looks at it, and it is not asked."""
    if all(circuit.is_closed for circuit in known.values()):
        return wave[0].claimed.claimed_at
    return database_now(connections[using])


def _assigned(wave: Sequence[Ready], found: Plan, look_at: dt.datetime) -> Assigned:
    by_id = {one.claimed.id: one for one in wave}
    shares = [Share(provider=name, ready=[by_id[i] for i in ids]) for name, ids in found.sent_by.items()]
    shares += [Share(provider=name, ready=[by_id[i]], probe=True) for name, i in found.probes.items()]
    return Assigned(
        wave=wave,
        shares=shares,
        postponed={i: min(at, look_at, by_id[i].claimed.expires_at) for i, at in found.postponed.items()},
        stranded=[(by_id[i].claimed, STRANDED) for i in found.stranded],
    )
