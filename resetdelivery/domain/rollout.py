"""Where a channel stands between an existing sender and ours, and what a step forward asks for. Pure."""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Mapping
from dataclasses import dataclass


class ChannelMode(enum.StrEnum):
    """Who sends what is admitted on a channel from now on."""

    LEGACY = "legacy"
    SHADOW = "shadow"
    LIVE = "live"


class RolloutAction(enum.StrEnum):
    """What the audit trail calls the steps of a rollout."""

    SET = "rollout_set"
    PAUSE = "rollout_pause"
    RESUME = "rollout_resume"
    #: Its target is :func:`verified_target`.
    VERIFIED = "recovery_verified"


#: A slice of all accounts.
EVERYBODY = 1000
#: The next slice that is proposed is so many times the last one.
GROWTH = 4
#: How old a due delivery may be, as a share of the shortest life that a reset is asked for with.
MOST_WAITED = 0.25

_ORDER = tuple(ChannelMode)
_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
#: Values of ``RECOVERY`` under which there is something to verify, in the order in which they come.
VERIFIABLE = ("observe", "on")
#: How the audit trail's reason ends where the command that verified made the sweeps itself.
SWEPT_HERE = "swept by the command"


def verified_target(channel: str, recovery: str) -> str:
    """What the audit trail says was verified: sweeping on ``channel`` with that value of ``RECOVERY``."""
    return f"{channel}: recovery {recovery}"


@dataclass(frozen=True, slots=True)
class Position:
    """A channel's mode, and of how many accounts per mille ours sends while it is live."""

    mode: str
    slice_per_mille: int = EVERYBODY

    def __str__(self) -> str:
        return f"{self.mode} {self.slice_per_mille}"

    def is_beyond(self, other: Position) -> bool:
        """Whether this one trusts ours with more than ``other`` does."""
        return self._rank() > other._rank()

    def _rank(self) -> tuple[int, int]:
        live = self.mode == ChannelMode.LIVE
        return _ORDER.index(ChannelMode(self.mode)), self.slice_per_mille if live else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a project asks of a step; see :class:`resetdelivery.rollout_settings.RolloutSettings`."""

    first_slice: int
    min_shadowed: int
    window: dt.timedelta
    verified_for: dt.timedelta

    def within(self) -> str:
        """The window, as the end of a sentence."""
        return f"within {in_words(self.window.total_seconds())}"

    def still_counts(self, age_seconds: float | None) -> bool:
        """Whether a verification that is so old, or that never was (``None``), may be built upon."""
        return age_seconds is not None and age_seconds <= self.verified_for.total_seconds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What there is to see of one channel, over the window that the rules name.

    ``recovery``: the value of ``RECOVERY``. ``verified_seconds``: how long ago each value of it was
    verified; ``swept_seconds`` likewise, by a sweep of the installation's own. ``observed_seconds``:
    how long ago ``observe`` was first verified by one, as far back as the audit trail goes. Of shadows
    that ended: ``would_send``, and the ``unsent`` ones that somebody should have got. ``accepted``: how
    many messages of ours a provider took. ``delays``: of how many deliveries the queue's delay was
    measured, and its 95th percentile, ``None`` above all buckets. ``failing``: reasons of the
    installation's and the channel's health that stand against a step. ``counted_seconds``: how long
    ago minutes were last counted.
    """

    paused: bool = False
    recovery: str = "off"
    verified_seconds: Mapping[str, float]
    swept_seconds: Mapping[str, float]
    observed_seconds: float | None = None
    would_send: int = 0
    unsent: int = 0
    accepted: int = 0
    delays: int = 0
    delay_p95_seconds: float | None = None
    oldest_due_seconds: float | None = None
    lifetime_seconds: float
    failing: tuple[str, ...] = ()
    counted_seconds: float | None = None
    counts_stale: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One precondition of a step: what was seen, and what was wanted."""

    name: str
    ok: bool
    saw: str
    wanted: str


def next_position(now: Position, rules: Rules) -> Position | None:
    """The step forward that makes sense after ``now``; ``None`` where all is ours."""
    if now.mode == ChannelMode.LEGACY:
        return Position(ChannelMode.SHADOW)
    if now.mode == ChannelMode.SHADOW or not now.slice_per_mille:
        return Position(ChannelMode.LIVE, rules.first_slice)
    if now.slice_per_mille >= EVERYBODY:
        return None
    return Position(ChannelMode.LIVE, min(EVERYBODY, GROWTH * now.slice_per_mille))


def next_step(channel: str, now: Position, facts: Facts, rules: Rules) -> str:
    """The arguments of ``manage.py`` that come next; empty where all is ours.

    What a step asks for beyond a pause's end and a verification, time and traffic bring.
    """
    then = next_position(now, rules)
    if facts.paused:
        return f"rollout resume {channel}"
    if then is None:
        return ""
    if then.mode == ChannelMode.SHADOW:
        return f"rollout set {channel} {then.mode}"
    ages = facts.swept_seconds if then.slice_per_mille >= EVERYBODY else facts.verified_seconds
    unverified = not rules.still_counts(ages.get(facts.recovery))
    if unverified and facts.recovery in VERIFIABLE:
        return f"rollout verify-recovery {channel}"
    return f"rollout set {channel} {then.mode} --slice {then.slice_per_mille}"


def in_words(seconds: float) -> str:
    """A duration as short as people say it: ``7 d``, ``1.5 h``, ``20 min``, ``3 s``."""
    unit, size = next((unit for unit in _UNITS if seconds >= unit[1]), _UNITS[-1])
    return f"{round(seconds / size, 1 if size > 1 else None):g} {unit}"
