"""``manage.py delivery_health``: how delivery is doing, for a person or a monitoring plugin."""

from __future__ import annotations

import datetime as dt
import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.core.management.base import BaseCommand
from django.db import Error

from resetdelivery.domain.health import MEANINGS, WINDOWS, HealthReason, Verdict
from resetdelivery.telemetry.health import delivery_health, told

#: What a monitoring plugin exits with (Monitoring Plugins Development Guidelines, "Return Codes").
EXIT_CODES = {Verdict.OK: 0, Verdict.DEGRADED: 1, Verdict.FAILING: 2}
NOTHING = "-"


class Command(BaseCommand):
    """One line with the verdict, then the numbers; exits with 0, 1 or 2: ok, degraded, failing."""

    help = "Show how delivery is doing. Exit code 0: ok, 1: degraded, 2: failing."
    # It runs every minute where a monitoring plugin is made of it.
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--window", choices=list(WINDOWS), default="5m", help="how far back (5m)")
        parser.add_argument("--database", default=None, help="the database alias, where there are several")
        parser.add_argument("--json", action="store_true", help="as the internal API tells it")

    def handle(self, *_: Any, window: str, database: str | None, json: bool, **__: Any) -> None:
        found = _found(window, database)
        for line in _json_lines(found) if json else lines(found):
            self.stdout.write(line)
        sys.exit(EXIT_CODES[Verdict(found["verdict"])])


def _found(window: str, database: str | None) -> Mapping[str, Any]:
    try:
        return told(delivery_health(WINDOWS[window], using=database))
    except Error:
        # Its text may hold the database's address.
        return {"verdict": Verdict.FAILING.value, "reasons": [HealthReason.DATABASE_AWAY.value]}


def _json_lines(found: Mapping[str, Any]) -> Iterator[str]:
    yield json.dumps(found, default=dt.datetime.isoformat, indent=2)


def lines(found: Mapping[str, Any]) -> Iterator[str]:
    """The verdict with all reasons in one line; then what each means, and a table of the numbers."""
    channels = found.get("channels", [])
    reasons = [("", reason) for reason in found["reasons"]]
    reasons += [(f"{one['channel']} ", reason) for one in channels for reason in one["reasons"]]
    told_why = ", ".join(f"{where}{reason}" for where, reason in reasons)
    yield f"{found['verdict']}: {told_why}" if told_why else found["verdict"]
    for where, reason in reasons:
        yield f"  {where}{reason}: {MEANINGS[HealthReason(reason)]}"
    if channels:
        yield ""
        yield from _table(channels)
        yield ""
        yield from _below(found)


def _table(channels: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    columns = [dict(_column(one)) for one in channels]
    rows = [[name, *(column[name] for column in columns)] for name in columns[0]]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    for name, *values in rows:
        cells = [value.rjust(width) for value, width in zip(values, widths[1:], strict=True)]
        yield "  ".join([name.ljust(widths[0]), *cells])


def _column(one: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each line's name and this channel's value."""
    yield "", one["channel"]
    yield "verdict", one["verdict"]
    yield "mode", f"{one['mode']}, paused" if one["paused"] else one["mode"]
    yield "oldest due", _seconds(one["oldest_due_seconds"])
    yield "oldest shadow due", _seconds(one["oldest_shadow_seconds"])
    for state in ("waiting", "pending", "leased", "submitting"):
        yield f"{state} now", str(one[state])
    for happened in ("admitted", "finished", "expired_usefully", "lease_recoveries"):
        yield happened.replace("_", " "), str(one[happened])
    for outcome, number in one["attempts"].items():
        yield f"attempts {outcome}", str(number)
    delay, left = one["queue_delay"], one["life_left_at_acceptance"]
    for percentile in ("p50", "p95", "p99"):
        yield f"queue delay {percentile}", _delay(delay[f"{percentile}_seconds"], delay["beyond"])
    yield "median life left at acceptance", NOTHING if left["median"] is None else f"{left['median']:.0%}"
    yield "accepted with a quarter or less", str(left["quarter_or_less"])


def _below(found: Mapping[str, Any]) -> Iterator[str]:
    counted_until = found["counted_until"]
    until = f"until {counted_until:%H:%M:%S}" if counted_until else "nothing yet"
    yield f"counted from {found['counted_from']:%Y-%m-%d %H:%M:%S} UTC, {until}"
    broker = {True: "reachable", False: "away", None: "not used"}[found["broker_reachable"]]
    yield (
        f"last sweep {_ago(found['sweep_age_seconds'])}, last count {_ago(found['rollup_age_seconds'])}, "
        f"broker {broker}"
    )


def _delay(seconds: float | None, beyond: int) -> str:
    """``None`` with attempts above the last bound means that the percentile lies among them."""
    return "> 900 s" if seconds is None and beyond else _seconds(seconds)


def _seconds(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.1f} s"


def _ago(seconds: float | None) -> str:
    return "never" if seconds is None else f"{seconds:.0f} s ago"
