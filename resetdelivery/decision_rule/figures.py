"""The decision rule as figures for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from resetdelivery.decision_rule.rule import ChannelRule, DecisionRule
from resetdelivery.decision_rule.way import Way
from resetdelivery.domain.decision_rule import Course


def as_json(rule: DecisionRule) -> dict[str, Any]:
    """What :func:`~resetdelivery.decision_rule.table.report` shows: durations in seconds."""
    proof = rule.proof
    return {
        "holds": rule.holds,
        "window_seconds": rule.window and rule.window.total_seconds(),
        "measured_since": rule.measured.since and rule.measured.since.isoformat(),
        "channels": [_channel(one) for one in rule.channels],
        "proof": {
            "holds": proof.holds,
            "differences": proof.differences,
            "ceilings": [asdict(one) | {"is_over": one.is_over} for one in proof.ceilings],
        },
    }


def _channel(one: ChannelRule) -> dict[str, Any]:
    way = one.way
    return {
        **_summary(way),
        "holds": one.holds,
        "channel": way.channel.value,
        "shortest_life_seconds": way.life.seconds,
        "shortest_life_from": way.life.source,
        "useful_seconds": way.worst.useful_seconds,
        "last_start_seconds": way.worst.last_start_seconds,
        "terms": {
            name: {"normal": term.normal, "worst": term.worst, "from": term.origin}
            for name, term in way.terms.items()
        },
        "attempts": [
            {"attempt": n, "normal": _times(way.normal, n), "worst": _times(way.worst, n)}
            for n in way.worst.shown
        ],
        "as_fallback": way.fallback
        and {
            "behind": way.fallback.behind,
            "seconds": way.fallback.seconds,
            "fitting": way.fallback.worst.fitting,
            "waited": one.waited,
        },
        "expired_before_an_attempt": one.untried and asdict(one.untried),
        "mends": [asdict(mend) for mend in one.mends],
        "other_boundaries": [_summary(other) for other in one.others],
    }


def _summary(way: Way) -> dict[str, Any]:
    return {
        "boundary": way.boundary.value,
        "holds": way.holds,
        "max_attempts": way.max_attempts,
        "fitting": way.worst.fitting,
        "fitting_normally": way.normal.fitting,
        "dead_worker_seconds": way.worst.recovery_seconds if way.recovers else None,
        "lost_hint_seconds": way.lost_hint_seconds,
    }


def _times(course: Course, attempt: int) -> dict[str, Any]:
    return {
        "starts_seconds": course.start_seconds(attempt),
        "done_seconds": course.needed_seconds(attempt),
        "fits": course.fits(attempt),
    }
