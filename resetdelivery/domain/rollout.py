"""Where a channel stands between an existing sender and ours, and what a step forward asks for. Pure."""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Iterator, Mapping
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
#: How many of the shadowed deliveries that somebody should have got may not be sendable.
MOST_UNSENT = 0.05

_ORDER = tuple(ChannelMode)
_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
#: Values of ``RECOVERY`` under which there is something to verify, in the order in which they come.
_VERIFIABLE = ("observe", "on")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What there is to see of one channel, over the window that the rules name.

    ``recovery``: the value of ``RECOVERY``. ``verified_seconds``: how long ago each value of it was
    verified. Of shadows that ended: ``would_send``, and the ``unsent`` ones that somebody should have
    got. ``delays``: of how many deliveries the queue's delay was measured, its 95th percentile, and
    how many of them lie above all buckets. ``failing``: reasons of the channel's health that stand
    against a step. ``counted_seconds``: how long ago minutes were last counted.
    """

    paused: bool = False
    recovery: str = "off"
    verified_seconds: Mapping[str, float]
    would_send: int = 0
    unsent: int = 0
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


def findings(before: Position, after: Position, facts: Facts, rules: Rules) -> tuple[Finding, ...]:
    """What a step forward asks for; nothing, if it is a step back or none."""
    if not after.is_beyond(before):
        return ()
    found = [_open(facts), _queue_age(facts), _health(facts)]
    if after.mode == ChannelMode.LIVE:
        begins = before.mode != ChannelMode.LIVE
        found += _first_steps(before, after, facts, rules) if begins else [_measured(facts, rules)]
        found += [_queue_delay(facts), _counts(facts), _recovery(after, facts, rules)]
    return tuple(found)


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
    unverified = not _still_counts(facts.verified_seconds.get(facts.recovery), rules)
    if unverified and facts.recovery in _VERIFIABLE:
        return f"rollout verify-recovery {channel}"
    return f"rollout set {channel} {then.mode} --slice {then.slice_per_mille}"


def _open(facts: Facts) -> Finding:
    saw = "paused" if facts.paused else "not paused"
    return Finding(name="pause", ok=not facts.paused, saw=saw, wanted="not paused")


def _queue_age(facts: Facts) -> Finding:
    age, most = facts.oldest_due_seconds, MOST_WAITED * facts.lifetime_seconds
    return Finding(
        name="queue age",
        ok=age is None or age <= most,
        saw="nothing is due" if age is None else f"the oldest delivery is due for {age:.1f} s",
        wanted=_quarter(most, facts),
    )


def _quarter(most: float, facts: Facts) -> str:
    return f"at most {most:g} s, a quarter of the shortest life ({facts.lifetime_seconds:g} s)"


def _health(facts: Facts) -> Finding:
    return Finding(
        name="health",
        ok=not facts.failing,
        saw=", ".join(facts.failing) or "nothing against it",
        wanted="no reason for failing, no expiries, attempts accepted",
    )


def _first_steps(before: Position, after: Position, facts: Facts, rules: Rules) -> Iterator[Finding]:
    yield Finding(
        name="shadow first",
        ok=before.mode == ChannelMode.SHADOW,
        saw=before.mode,
        wanted="shadow before live",
    )
    yield Finding(
        name="first slice",
        ok=after.slice_per_mille <= rules.first_slice,
        saw=f"{after.slice_per_mille} per mille",
        wanted=f"at most {rules.first_slice} per mille (FIRST_SLICE)",
    )
    yield Finding(
        name="shadowed",
        ok=facts.would_send >= rules.min_shadowed,
        saw=f"{facts.would_send} shadows that would have been sent",
        wanted=f"at least {rules.min_shadowed} {rules.within()}",
    )
    of = facts.would_send + facts.unsent
    yield Finding(
        name="sendable",
        ok=facts.unsent <= MOST_UNSENT * of,
        saw=f"{facts.unsent} of {of} shadows expired or failed",
        wanted=f"at most {MOST_UNSENT:.0%} {rules.within()}",
    )


def _measured(facts: Facts, rules: Rules) -> Finding:
    return Finding(
        name="measured",
        ok=facts.delays >= rules.min_shadowed,
        saw=f"{facts.delays} deliveries, ours or shadowed",
        wanted=f"at least {rules.min_shadowed} {rules.within()}",
    )


def _queue_delay(facts: Facts) -> Finding:
    p95, most = facts.delay_p95_seconds, MOST_WAITED * facts.lifetime_seconds
    unknown = "above all buckets" if facts.delays else "nothing was measured"
    return Finding(
        name="queue delay",
        ok=p95 is not None and p95 <= most,
        saw=unknown if p95 is None else f"95 % of {facts.delays} began within {p95:.1f} s",
        wanted=_quarter(most, facts),
    )


def _counts(facts: Facts) -> Finding:
    return Finding(
        name="counts",
        ok=not facts.counts_stale,
        saw=f"minutes were counted {_ago(facts.counted_seconds)}",
        wanted="fresh (docs/health.md: counts_stale)",
    )


def _recovery(after: Position, facts: Facts, rules: Rules) -> Finding:
    """A slice begins under a recovery that watches or acts; all accounts need both, one after the other."""
    everybody = after.slice_per_mille >= EVERYBODY
    allowed = ("on",) if everybody else _VERIFIABLE
    needed = _VERIFIABLE if everybody else (facts.recovery,)
    verified = all(_still_counts(facts.verified_seconds.get(one), rules) for one in needed)
    ages = ", ".join(f"'{one}' verified {_ago(facts.verified_seconds.get(one))}" for one in _VERIFIABLE)
    wanted = " or ".join(f"'{one}'" for one in allowed) + (", both verified" if everybody else ", verified")
    return Finding(
        name="recovery",
        ok=facts.recovery in allowed and verified,
        saw=f"RECOVERY is '{facts.recovery}'; {ages}",
        wanted=f"{wanted} within {in_words(rules.verified_for.total_seconds())}",
    )


def _still_counts(age_seconds: float | None, rules: Rules) -> bool:
    return age_seconds is not None and age_seconds <= rules.verified_for.total_seconds()


def _ago(seconds: float | None) -> str:
    return "never" if seconds is None else f"{in_words(seconds)} ago"


def in_words(seconds: float) -> str:
    """A duration as short as people say it: ``7 d``, ``1.5 h``, ``20 min``, ``3 s``."""
    unit, size = next((unit for unit in _UNITS if seconds >= unit[1]), _UNITS[-1])
    return f"{round(seconds / size, 1 if size > 1 else None):g} {unit}"
