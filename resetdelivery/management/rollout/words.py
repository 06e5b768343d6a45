"""How the steps of a rollout tell what they saw: lines for people, plain values for programs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from resetdelivery.cutover.status import ChannelStatus
from resetdelivery.domain.rollout import EVERYBODY, Finding, Position, in_words
from resetdelivery.domain.telemetry import Ending
from resetdelivery.models import AuditEntry

HEADINGS = ("when (UTC)", "who", "action", "target", "why")


def finding_lines(found: Sequence[Finding]) -> list[str]:
    """A line for each precondition: whether it holds, what was seen, what was wanted."""
    width = max((len(one.name) for one in found), default=0)
    return [
        f"{'ok' if one.ok else 'not ok':6}  {one.name:{width}}  {one.saw}; wanted: {one.wanted}"
        for one in found
    ]


def entry_lines(entries: Sequence[AuditEntry]) -> list[str]:
    """A table of what was done, the newest first."""
    rows = [HEADINGS, *((_moment(e.at), e.who, e.action, e.target, e.why) for e in entries)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]


def channel_lines(one: ChannelStatus) -> list[str]:
    """A channel's place, pause, recovery, window, queue and health; then the next step."""
    parts = {
        "paused": _paused(one),
        "recovery": "; ".join([f"RECOVERY is '{one.recovery}'", *_verified(one)]),
        "window": f"last {in_words(one.window.total_seconds())}: {_admitted(one)}",
        "shadows": _shadowed(one),
        "queue": _queue(one),
        "health": ": ".join([one.verdict.value, *filter(None, [", ".join(one.reasons)])]),
        "next": f"manage.py {one.next_step}" if one.next_step else "nothing: all of it is ours",
    }
    return [
        f"{one.channel}: {_place(one.position)}",
        *(f"  {name:8}  {text}" for name, text in parts.items()),
        *(f"    {line}" for line in finding_lines(one.next_findings)),
    ]


def _place(position: Position) -> str:
    share = "all of it" if position.slice_per_mille == EVERYBODY else f"{position.slice_per_mille} per mille"
    sends = {
        "legacy": "the existing sender sends",
        "shadow": "the existing sender sends, ours does all but that",
    }
    return f"{position.mode}, {sends.get(position.mode, f'{share} is ours')}"


def _paused(one: ChannelStatus) -> str:
    if not one.paused:
        return "no"
    if one.paused_since is None:
        return f"yes, {one.pause_reason.value or 'nobody knows why'}"
    return f"yes, by {one.paused_by} since {_moment(one.paused_since)}: {one.pause_why}"


def _verified(one: ChannelStatus) -> list[str]:
    return [
        f"'{recovery}' verified {_moment(one.verified[recovery]) if recovery in one.verified else 'never'}"
        for recovery in ("observe", "on")
    ]


def _admitted(one: ChannelStatus) -> str:
    return f"{sum(one.admitted.values())} admitted{_split(one.admitted)}"


def _shadowed(one: ChannelStatus) -> str:
    others = dict(one.shadowed)
    sent = others.pop(Ending.SHADOWED, 0)
    return f"{sent} would have been sent, {sum(others.values())} not{_split(others)}"


def _split(numbers: Mapping[str, int]) -> str:
    listed = ", ".join(f"{number} {name}" for name, number in sorted(numbers.items()))
    return f" ({listed})" if listed else ""


def _queue(one: ChannelStatus) -> str:
    due = "nothing is due" if one.oldest_due_seconds is None else f"oldest due {one.oldest_due_seconds:.1f} s"
    began = "nothing was measured"
    if one.delays:
        p95 = "longer than 900 s" if one.delay_p95_seconds is None else f"{one.delay_p95_seconds:.1f} s"
        began = f"95 % of {one.delays} began within {p95}"
    return f"{due}, {began}; the shortest life is {one.lifetime_seconds:g} s"


def _moment(at: dt.datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}"


def told(one: ChannelStatus) -> dict[str, Any]:
    """A channel's status in plain values; moments as ISO 8601."""
    return {
        "channel": one.channel.value,
        "mode": one.position.mode,
        "slice_per_mille": one.position.slice_per_mille,
        "paused": one.paused,
        "pause_reason": one.pause_reason.value,
        "pause_why": one.pause_why,
        "paused_by": one.paused_by,
        "paused_since": one.paused_since and one.paused_since.isoformat(),
        "recovery": one.recovery,
        "verified": {name: at.isoformat() for name, at in one.verified.items()},
        "window_seconds": one.window.total_seconds(),
        "admitted": dict(one.admitted),
        "shadowed": dict(one.shadowed),
        "oldest_due_seconds": one.oldest_due_seconds,
        "delays": one.delays,
        "delay_p95_seconds": one.delay_p95_seconds,
        "lifetime_seconds": one.lifetime_seconds,
        "verdict": one.verdict.value,
        "reasons": [reason.value for reason in one.reasons],
        "next_step": one.next_step,
        "next_findings": [
            {"name": f.name, "ok": f.ok, "saw": f.saw, "wanted": f.wanted} for f in one.next_findings
        ],
    }
