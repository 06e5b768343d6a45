"""How a live sender is moved over: the part of ``RESETDELIVERY`` for rollout and decision rule."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from resetdelivery.telemetry_settings import TelemetrySettings


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutSettings(TelemetrySettings):
    """Keys of ``RESETDELIVERY`` are these names in capitals.

    A channel that goes live begins with at most ``first_slice`` accounts per mille, after at least
    ``rollout_min_shadowed`` shadowed deliveries within ``rollout_window``, over which health is looked
    at as well. Recovery counts as verified for ``rollout_verified_for``. ``legacy_token_generator`` is
    the dotted path of the existing sender's token generator, a class or an instance: while it is set,
    the reset page accepts that one's links too, until they expire. ``min_lifetime`` is the shortest
    life that a reset may be asked for; nothing means as short as can help.
    """

    first_slice: int = 50
    rollout_window: dt.timedelta = dt.timedelta(hours=1)
    rollout_min_shadowed: int = 20
    rollout_verified_for: dt.timedelta = dt.timedelta(days=7)
    legacy_token_generator: str = ""
    min_lifetime: dt.timedelta = dt.timedelta(0)
