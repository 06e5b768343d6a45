"""Both halves of the decision rule: whether all fits in time, and whether what happened can be proved."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from django.db import connections

from notifications.channels import Channel
from resetdelivery.conf import Dispatch, Settings
from resetdelivery.decision_rule.measured import NOTHING, Measured, Untried, measure
from resetdelivery.decision_rule.mends import Mend, mends
from resetdelivery.decision_rule.terms import way_of
from resetdelivery.decision_rule.way import Way
from resetdelivery.domain.budget import Ceiling
from resetdelivery.reconciliation import reconcile
from resetdelivery.telemetry.budget import reckon


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelRule:
    """One channel at the boundary that is judged, what would mend it, and the other boundaries.

    ``waited``: how many deliveries were a fallback; ``untried`` is ``None`` where nothing was measured.
    """

    way: Way
    mends: tuple[Mend, ...]
    others: tuple[Way, ...]
    waited: int
    untried: Untried | None

    @property
    def fits(self) -> bool:
        """Whether all attempts fit, as a fallback too where there was one."""
        return self.way.holds_as_fallback if self.waited else self.way.holds

    @property
    def holds(self) -> bool:
        """Whether that is so, and what expired before an attempt does not belie it."""
        return self.fits and not (self.untried and self.untried.is_too_many)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The second half: what does not add up (``None``: not looked at), and the ceilings of telemetry."""

    differences: tuple[str, ...] | None
    ceilings: tuple[Ceiling, ...]

    @property
    def passed(self) -> tuple[Ceiling, ...]:
        """The ceilings that are passed."""
        return tuple(ceiling for ceiling in self.ceilings if ceiling.is_over)

    @property
    def holds(self) -> bool:
        """Whether every attempt is accounted for, and labels and logs are bounded."""
        return not self.differences and not self.passed


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRule:
    """The whole rule. ``window`` is what was measured over; ``None`` where nothing was."""

    window: dt.timedelta | None
    measured: Measured
    channels: tuple[ChannelRule, ...]
    proof: Proof

    @property
    def holds(self) -> bool:
        """Whether both halves do."""
        return self.proof.holds and all(one.holds for one in self.channels)


def decide(
    settings: Settings,
    *,
    channels: Sequence[Channel],
    boundary: Dispatch,
    window: dt.timedelta | None,
    using: str,
) -> DecisionRule:
    """Judge ``channels`` at ``boundary``; without a ``window`` by settings alone, asking no database.

    :class:`~resetdelivery.reconciliation.InvalidWindow` for a window that cannot be looked at,
    ``OperationalError`` where the database does not answer in time.
    """
    measured = NOTHING if window is None else measure(window, channels, using=using)
    return DecisionRule(
        window=window,
        measured=measured,
        channels=tuple(_channel(settings, channel, boundary, measured) for channel in channels),
        proof=_proof(settings, window, using),
    )


def _channel(settings: Settings, channel: Channel, boundary: Dispatch, measured: Measured) -> ChannelRule:
    waited = measured.waited.get(channel, 0)
    one = ChannelRule(
        way=way_of(settings, channel, boundary, measured),
        mends=(),
        others=tuple(
            way_of(settings, channel, other, measured) for other in Dispatch if other is not boundary
        ),
        waited=waited,
        untried=measured.untried.get(channel),
    )
    if one.fits:
        return one
    fits = attrgetter("holds_as_fallback" if waited else "holds")
    return replace(one, mends=mends(settings, channel, boundary, measured, fits=fits))


def _proof(settings: Settings, window: dt.timedelta | None, using: str) -> Proof:
    if window is None:
        return Proof(differences=None, ceilings=reckon(settings).ceilings)
    found = reconcile(window, using=using).differences
    return Proof(
        differences=tuple(one.sentence() for one in found),
        ceilings=reckon(settings, connections[using]).ceilings,
    )
