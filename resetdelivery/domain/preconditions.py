"""What a step of a rollout asks for before it is made. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from resetdelivery.domain.rollout import (
    EVERYBODY,
    MOST_WAITED,
    VERIFIABLE,
    ChannelMode,
    Facts,
    Finding,
    Position,
    Rules,
    in_words,
)

#: How many of the shadowed deliveries that somebody should have got may not be sendable.
MOST_UNSENT = 0.05


def findings(before: Position, after: Position, facts: Facts, rules: Rules) -> tuple[Finding, ...]:
    """What a step forward asks for; nothing, if it is a step back or none."""
    if not after.is_beyond(before):
        return ()
    found = [_open(facts), _queue_age(facts), _health(facts)]
    if after.mode == ChannelMode.LIVE:
        begins = before.mode != ChannelMode.LIVE
        found += _first_steps(before, after, facts, rules) if begins else _larger_slice(before, facts, rules)
        found += [_queue_delay(facts), _counts(facts), _recovery(after, facts, rules)]
    return tuple(found)


def nothing_seen() -> Finding:
    """In place of all others where the numbers cannot be read; only an override gets past it."""
    return Finding(
        name="nothing seen",
        ok=False,
        saw="the numbers could not be read",
        wanted="health, counts and recovery, as the database tells them",
    )


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


def _larger_slice(before: Position, facts: Facts, rules: Rules) -> Iterator[Finding]:
    yield Finding(
        name="measured",
        ok=facts.delays >= rules.min_shadowed,
        saw=f"{facts.delays} deliveries, ours or shadowed",
        wanted=f"at least {rules.min_shadowed} {rules.within()}",
    )
    # The slice's share of what is measured: a small slice need not wait longer than the rest.
    least = max(1, math.ceil(rules.min_shadowed * before.slice_per_mille / EVERYBODY))
    yield Finding(
        name="accepted",
        ok=facts.accepted >= least,
        saw=f"{facts.accepted} of ours accepted",
        wanted=f"at least {least} {rules.within()}",
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
    """A slice begins under a recovery that watches or acts, and was verified as it is set."""
    if after.slice_per_mille >= EVERYBODY:
        return _recovery_of_everybody(facts, rules)
    verified = rules.still_counts(facts.verified_seconds.get(facts.recovery))
    return Finding(
        name="recovery",
        ok=facts.recovery in VERIFIABLE and verified,
        saw=_verified(facts, facts.verified_seconds),
        wanted=f"'observe' or 'on', verified within {in_words(rules.verified_for.total_seconds())}",
    )


def _recovery_of_everybody(facts: Facts, rules: Rules) -> Finding:
    """What is in force was verified lately; that it watched first need not be done again."""
    acts, watched = facts.swept_seconds.get("on"), facts.observed_seconds
    in_turn = acts is not None and watched is not None and watched >= acts
    return Finding(
        name="recovery",
        ok=facts.recovery == "on" and rules.still_counts(acts) and in_turn,
        saw=f"{_verified(facts, facts.swept_seconds)}{_swept_here(facts)}",
        wanted=f"'on', verified within {in_words(rules.verified_for.total_seconds())}, and 'observe' at "
        "any time before it; without --sweep-here",
    )


def _verified(facts: Facts, ages: Mapping[str, float]) -> str:
    told = ", ".join(f"'{one}' verified {_ago(ages.get(one))}" for one in VERIFIABLE)
    return f"RECOVERY is '{facts.recovery}'; {told}"


def _swept_here(facts: Facts) -> str:
    left_out = any(facts.verified_seconds.get(one) != facts.swept_seconds.get(one) for one in VERIFIABLE)
    return "; --sweep-here left out" if left_out else ""


def _ago(seconds: float | None) -> str:
    return "never" if seconds is None else f"{in_words(seconds)} ago"
