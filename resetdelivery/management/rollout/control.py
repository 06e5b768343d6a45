"""``rollout status|set|pause|resume|history``."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from typing import Any

from notifications.channels import Channel
from resetdelivery.cutover import steps
from resetdelivery.cutover.status import history, status
from resetdelivery.cutover.steps import Changed, InvalidStep, StepRefused
from resetdelivery.cutover.turns import PATIENCE
from resetdelivery.domain.rollout import EVERYBODY, ChannelMode
from resetdelivery.management.operator import operator
from resetdelivery.management.rollout import Say, Step
from resetdelivery.management.rollout.words import channel_lines, entry_lines, finding_lines, told

#: Every channel there is, configured or not: the kill switch.
ALL = "all"
_BUSY = (
    "Somebody holds the channels: a worker in the middle of its mark, or a process that hangs. "
    f"Trying again for {PATIENCE.total_seconds():g} s; not paused yet."
)
_PAUSED = "paused; nothing more is sent, and what waits still expires"


def add(steps: Any) -> None:
    """Add the sub-parsers to ``steps``."""
    show = steps.add_parser("status", help="where every channel stands, and what comes next")
    show.add_argument("--json", action="store_true", help="for programs")
    _add_set(steps)
    _add_pauses(steps)
    past = steps.add_parser("history", help="the last steps: when, who, what, which and why")
    past.add_argument("--limit", type=int, default=20, help="so many of them (20)")
    for name in STEPS:
        steps.choices[name].add_argument("--database", help="the database alias, where there are several")


def _add_set(steps: Any) -> None:
    move = steps.add_parser("set", help="who sends what is admitted from now on; says what it saw")
    move.add_argument("channel", choices=list(Channel))
    move.add_argument("mode", choices=list(ChannelMode), help="the existing sender, that and a shadow, ours")
    move.add_argument(
        "--slice", type=int, metavar="N", help=f"live for so many accounts per mille ({EVERYBODY}: for all)"
    )
    move.add_argument("--override", action="store_true", help="although a precondition fails; needs --why")
    move.add_argument("--dry-run", action="store_true", help="say what there is to see, and change nothing")
    _add_why(move, "needed with --override")


def _add_pauses(steps: Any) -> None:
    for name, does, needed in (
        ("pause", "send nothing more, at once; what waits still expires", "needed"),
        ("resume", "send again, also what paused itself", "may be left out"),
    ):
        parser = steps.add_parser(name, help=does)
        parser.add_argument("channel", choices=[*Channel, ALL], help=f"{ALL}: every channel, as one step")
        _add_why(parser, needed)


def _add_why(parser: ArgumentParser, needed: str) -> None:
    parser.add_argument("--why", default="", metavar="TEXT", help=f"a reason for the audit trail; {needed}")


def _status(options: dict[str, Any], say: Say) -> bool:
    found = status(using=options["database"])
    if options["json"]:
        say(json.dumps([told(one) for one in found], indent=2))
        return True
    for one in found:
        for line in channel_lines(one):
            say(line)
    return True


def _set(options: dict[str, Any], say: Say) -> bool:
    channel, mode, using = Channel(options["channel"]), options["mode"], options["database"]
    wanted = {"mode": mode, "slice_per_mille": _slice(mode, options["slice"]), "using": using}
    if options["dry_run"]:
        found = steps.preview(channel, **wanted)
        _say_all(say, finding_lines(found))
        say("Nothing was changed.")
        return all(one.ok for one in found)
    try:
        changed = steps.change(
            channel, who=operator(), why=options["why"], override=options["override"], **wanted
        )
    except StepRefused as refused:
        _say_all(say, finding_lines(refused.findings))
        say("Refused: nothing was changed. To do it all the same, add --override --why 'a reason'.")
        return False
    _say_all(say, finding_lines(changed.findings))
    say(f"{channel}: {_became(changed)}")
    return True


def _slice(mode: str, asked: int | None) -> int:
    if asked is not None and mode != ChannelMode.LIVE:
        raise InvalidStep(f"--slice is for 'live': {mode!r} is for all accounts. Leave it out.")
    return EVERYBODY if asked is None else asked


def _became(changed: Changed) -> str:
    if changed.before == changed.after:
        return f"{changed.after} already, nothing to do."
    return f"{changed.before} -> {changed.after}, from the next admission on."


def _pause(options: dict[str, Any], say: Say) -> bool:
    wanted = _channels(options)
    done = steps.pause(
        wanted,
        who=operator(),
        why=options["why"],
        on_wait=lambda: say(_BUSY),
        using=options["database"],
    )
    for channel in wanted:
        say(f"{channel}: {_PAUSED if channel in done else 'was paused already'}")
    return True


def _resume(options: dict[str, Any], say: Say) -> bool:
    wanted = _channels(options)
    done = steps.resume(wanted, who=operator(), why=options["why"], using=options["database"])
    for channel in wanted:
        say(f"{channel}: {'resumed' if channel in done else 'was not paused'}")
    return True


def _channels(options: Mapping[str, Any]) -> Sequence[Channel]:
    asked = options["channel"]
    return list(Channel) if asked == ALL else [Channel(asked)]


def _history(options: dict[str, Any], say: Say) -> bool:
    if options["limit"] < 1:
        raise InvalidStep(f"--limit is {options['limit']}; use 1 or more.")
    _say_all(say, entry_lines(history(limit=options["limit"], using=options["database"])))
    return True


def _say_all(say: Say, lines: Sequence[str]) -> None:
    for line in lines:
        say(line)


STEPS: Mapping[str, Step] = {
    "status": _status,
    "set": _set,
    "pause": _pause,
    "resume": _resume,
    "history": _history,
}
