"""``rollout compare``."""

from __future__ import annotations

import json
from argparse import ArgumentTypeError
from collections.abc import Iterator, Mapping
from typing import Any

from django.db import OperationalError, ProgrammingError, router

from resetdelivery.cutover.comparison import Compared, compare
from resetdelivery.domain.comparison import NOT_EXPECTED, OPEN, UNTOLD, Comparison
from resetdelivery.domain.states import Authority
from resetdelivery.domain.telemetry import SEGMENT_BUCKETS, Ending, LegacyOutcome
from resetdelivery.management.commands.reconcile import window_of
from resetdelivery.management.database_argument import alias_of, not_answered
from resetdelivery.management.rollout import Say, Step
from resetdelivery.models import ResetIntent

NOTHING = "-"
#: The rows of the table: how ours ended, and what that is called.
_OURS: Mapping[str, str] = {
    Ending.SHADOWED: "would send",
    Ending.FAILED: "would fail",
    Ending.EXPIRED: "expired",
    Ending.CANCELLED: "would cancel",
    Ending.WITHHELD: "only recorded",
    OPEN: "still open",
}
_OF_SHADOWS = (Ending.SHADOWED, Ending.FAILED, Ending.EXPIRED, Ending.CANCELLED)
#: Its columns.
_THEIRS: Mapping[str, str] = {
    **{one: one.value.replace("_", " ") for one in LegacyOutcome},
    UNTOLD: "not reported",
    NOT_EXPECTED: "not expected",
}


def add(steps: Any) -> None:
    """Add the sub-parser to ``steps``."""
    step = steps.add_parser(
        "compare",
        help="what we would have sent beside what the existing sender reported",
        description="What ended within the window: what we would have sent, beside what the existing "
        "sender reported. Exit code 1 where the two disagree on more than is tolerated.",
    )
    step.add_argument(
        "--window", type=window_of, default="1h", help="how far back: 1m to 7d, such as 15m, 1h (usual) or 2d"
    )
    step.add_argument(
        "--tolerate",
        type=_per_mille,
        default=0,
        metavar="N",
        help="how many may disagree, per mille of the deliveries that both sides speak of (0)",
    )
    step.add_argument("--json", action="store_true", help="for programs")
    step.add_argument(
        "--database", type=alias_of, help="the alias of the database, where it is not the usual one"
    )


def _per_mille(text: str) -> int:
    if not text.isdecimal() or int(text) > 1000:
        raise ArgumentTypeError("write a whole number from 0 to 1000")
    return int(text)


def _compare(options: dict[str, Any], say: Say) -> bool:
    try:
        found = compare(options["window"], using=options["database"])
    except (OperationalError, ProgrammingError) as error:
        raise not_answered(error, options["database"] or router.db_for_read(ResetIntent)) from None
    tolerated = options["tolerate"]
    if options["json"]:
        say(json.dumps(as_dict(found, tolerated), indent=2))
    else:
        say("\n".join(lines(found, tolerated)))
    return found.is_within(tolerated)


STEPS: Mapping[str, Step] = {"compare": _compare}


def lines(found: Compared, tolerated: int) -> Iterator[str]:
    """As text: of each channel the totals, the table of both sides, and what disagrees."""
    yield f"from {found.since:%Y-%m-%d %H:%M} until {found.at:%Y-%m-%d %H:%M:%S} UTC"
    for one in found.channels:
        yield ""
        yield one.channel
        yield from (f"  {name:<16}{text}" for name, text in _totals(one))
        if one.pairs:
            yield ""
            yield from (f"  {line}" for line in _table(one))
            yield ""
        yield from (f"  {line}" for line in _verdict(one, tolerated))


def _totals(one: Comparison) -> Iterator[tuple[str, str]]:
    yield "admitted", _listed({name.value: one.admitted.get(name, 0) for name in Authority})
    endings = {_OURS[name]: one.endings.get(name, 0) for name in _OF_SHADOWS}
    yield "shadows", _listed({"claimed": one.claimed, **endings})
    most_first = sorted(one.refused.items(), key=lambda item: (-item[1], item[0]))
    yield "not sent, why", _listed(dict(most_first))
    yield "due until sent", f"p50 {_delay(one, 0.5)}, p95 {_delay(one, 0.95)}"
    if one.segments:
        yield "segments", ", ".join(f"{one.segments.get(name, 0)} of {name}" for name in SEGMENT_BUCKETS)
    reported = {_THEIRS[name]: one.reported.get(name, 0) for name in LegacyOutcome}
    yield "existing sender", _listed({**reported, _THEIRS[UNTOLD]: one.not_reported})
    if one.untold:
        yield "not reported", _listed({_OURS.get(why, why): number for why, number in one.untold.items()})


def _listed(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in numbers.items()) or NOTHING


def _delay(one: Comparison, share: float) -> str:
    seconds = one.delay_seconds(share)
    if seconds is None:
        return "> 900 s" if one.would_send else NOTHING
    return f"{seconds:.1f} s"


def _table(one: Comparison) -> Iterator[str]:
    found = one.table()
    yield "".join([f"{'ours / theirs':<16}", *(f"{words:>14}" for words in _THEIRS.values())])
    for ours, words in _OURS.items():
        if ours in found:
            yield "".join([f"{words:<16}", *(f"{found[ours].get(name, 0):>14}" for name in _THEIRS)])


def _verdict(one: Comparison, tolerated: int) -> Iterator[str]:
    if one.left_to_them:
        yield f"{one.left_to_them} not compared: it decides about the next channel itself"
    if not one.compared:
        yield "ok    nothing to compare: of no shadow that ended was anything reported"
        return
    ours, theirs = one.would_send_of_compared, one.sent_of_compared
    yield f"{one.compared} compared: we would have sent {ours}, they sent {theirs} ({ours - theirs:+d})"
    yield from (f"differ  {number:>4}  {words}" for words, number in one.disagreements.items())
    share = f"{one.disagreeing * 1000 / one.compared:.1f} per mille disagree, {tolerated} are tolerated"
    yield f"{'ok' if one.is_within(tolerated) else 'OFF':<5} {share}"


def as_dict(found: Compared, tolerated: int) -> dict[str, Any]:
    """For programs."""
    return {
        "since": found.since.isoformat(),
        "at": found.at.isoformat(),
        "tolerated_per_mille": tolerated,
        "ok": found.is_within(tolerated),
        "channels": [_channel_dict(one, tolerated) for one in found.channels],
    }


def _channel_dict(one: Comparison, tolerated: int) -> dict[str, Any]:
    return {
        "channel": one.channel,
        "ok": one.is_within(tolerated),
        "admitted": dict(one.admitted),
        "claimed": one.claimed,
        "endings": dict(one.endings),
        "refused": dict(one.refused),
        "delay_p50_seconds": one.delay_seconds(0.5),
        "delay_p95_seconds": one.delay_seconds(0.95),
        "segments": dict(one.segments),
        "reported": dict(one.reported),
        "not_reported": one.not_reported,
        "not_reported_by_reason": dict(one.untold),
        "left_to_them": one.left_to_them,
        "compared": one.compared,
        "would_send_of_compared": one.would_send_of_compared,
        "sent_of_compared": one.sent_of_compared,
        "disagreements": dict(one.disagreements),
        "pairs": [
            {"ours": pair.ours, "reason": pair.reason, "theirs": pair.theirs, "number": pair.number}
            for pair in one.pairs
        ],
    }
