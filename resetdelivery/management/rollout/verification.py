"""``rollout verify-recovery``: rows that are stranded on purpose, and the sweep that comes for them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.views.decorators.debug import sensitive_variables

from notifications.channels import Channel
from resetdelivery.conf import Recovery, get_settings
from resetdelivery.cutover.verification import FEWEST, MOST, Verification, verify
from resetdelivery.domain.verification import STRANDED_KINDS, Course
from resetdelivery.management.operator import operator
from resetdelivery.management.rollout import Say, Step
from resetdelivery.management.rollout.words import finding_lines

_HEADS = ("delivery", "what was done", "at", "put back", "hinted at", "taken", "ended")


def add(steps: Any) -> None:
    """Add the sub-parser to ``steps``."""
    parser = steps.add_parser(
        "verify-recovery",
        help="strand a few shadow deliveries, and see that the sweep claims those and only those",
    )
    parser.add_argument(
        "channel", nargs="?", choices=[c.value for c in Channel], help="one channel; all of them, if none"
    )
    parser.add_argument(
        "--number", type=int, default=5, help=f"how many are stranded per channel: {FEWEST} to {MOST} (5)"
    )
    parser.add_argument(
        "--sweep-here", action="store_true", help="sweep in this process, and wait for nobody else's sweep"
    )
    parser.add_argument(
        "--account",
        metavar="REF",
        help="the reference of a test account of your own: one of the deliveries is for it, and is rendered",
    )
    parser.add_argument(
        "--timeout", type=int, default=120, metavar="SECONDS", help="how long it may take per channel (120)"
    )
    parser.add_argument("--database", help="the alias of the database, where it is not the usual one")


@sensitive_variables()
def _verify(options: dict[str, Any], say: Say) -> bool:
    named = options["channel"]
    channels = [Channel(named)] if named else list(get_settings().channels)
    well = True
    for channel in channels:
        verification = verify(
            channel,
            who=operator(),
            number=options["number"],
            timeout=dt.timedelta(seconds=options["timeout"]),
            sweep_here=options["sweep_here"],
            account_ref=options["account"],
            using=options["database"],
        )
        for line in _lines(verification):
            say(line)
        well = well and verification.ok
    return well


STEPS: Mapping[str, Step] = {"verify-recovery": _verify}


def _lines(verification: Verification) -> Iterator[str]:
    yield f"{verification.channel}: RECOVERY is {verification.recovery}"
    yield from _table(verification.courses)
    yield "seconds since it was stranded; put back and taken: by then, as they were seen"
    yield from finding_lines(verification.findings)
    yield _verdict(verification)
    yield ""


def _verdict(verification: Verification) -> str:
    if not verification.ok:
        return "Not verified. Nothing of this was sent, and the audit trail does not know of it."
    if verification.recovery is Recovery.OBSERVE:
        return "Verified, and in the audit trail: the sweep sees what it would put back, and touches nothing."
    return "Verified, and in the audit trail: the sweep claims what was stranded, and nothing else."


def _table(courses: Sequence[Course]) -> Iterator[str]:
    rows = [_HEADS, *map(_row, courses)]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    for cells in rows:
        padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
        yield "  " + "  ".join(padded).rstrip()


def _row(course: Course) -> tuple[str, ...]:
    since = course.stranded.at
    times = [_after(since, at) for at in (course.put_back_at, course.hinted_at, course.taken_at)]
    # The rest of a name is for manage.py explain, which the admin's pages lead to.
    return course.name[:8], course.kind.value, f"{since:%H:%M:%S}", *times, _end(course)


def _end(course: Course) -> str:
    if course.untouched:
        return "left alone"
    if course.kind not in STRANDED_KINDS or course.ended_at is None:
        return f"touched: {course.last.state}"
    reason = f" ({course.last.reason})" if course.last.reason else ""
    return f"{_after(course.stranded.at, course.ended_at)} {course.last.state}{reason}"


def _after(since: dt.datetime, at: dt.datetime | None) -> str:
    return "-" if at is None else f"+{(at - since).total_seconds():.2f}"
