"""``manage.py telemetry_budget``: what metrics, log, traces and tables cost, against their ceilings."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import sys
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand
from django.db import connections, router

from resetdelivery.conf import Settings, get_settings
from resetdelivery.models import Attempt
from resetdelivery.telemetry.budget import Budget, as_json, reckon, report

#: Options that stand in for a setting, with what they count.
_INSTEAD = {
    "resets_per_day": "resets a day",
    "log_replicas": "copies of the log",
    "max_series": "the most series",
    "max_line_bytes": "the most octets of a line",
    "max_log_bytes": "the most octets of the log",
    "max_span_bytes": "the most octets of the traces",
    "max_trail_bytes": "the most octets of our tables",
}
_INSTEAD_DAYS = {"log_retention": "of the log", "span_retention": "of the traces"}


class Command(BaseCommand):
    """Prints the budget; the exit code is 1 where a ceiling is passed."""

    help = "Print what telemetry costs, and fail where that is over its ceilings."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="the figures as JSON")
        parser.add_argument("--database", help="whose tables to measure; by default where attempts are read")
        for name, what in _INSTEAD.items():
            parser.add_argument(_option(name), type=_whole, metavar="N", help=f"{what}, for the setting")
        for name, what in _INSTEAD_DAYS.items():
            parser.add_argument(
                _option(name), type=_whole, metavar="DAYS", help=f"days {what}, for the setting"
            )

    def handle(self, *_: Any, **options: Any) -> None:
        alias = options["database"] or router.db_for_read(Attempt)
        budget = reckon(_settings(options), connections[alias])
        self._print(budget, whole=options["json"])
        if budget.is_over:
            sys.exit(1)

    def _print(self, budget: Budget, *, whole: bool) -> None:
        if whole:
            self.stdout.write(json.dumps(as_json(budget), indent=2))
            return
        for line in report(budget):
            self.stdout.write(line)


def _settings(options: dict[str, Any]) -> Settings:
    """The settings, with what the options say instead."""
    given: dict[str, Any] = {name: options[name] for name in _INSTEAD if options[name]}
    given |= {name: dt.timedelta(days=options[name]) for name in _INSTEAD_DAYS if options[name]}
    return dataclasses.replace(get_settings(), **given)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _whole(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError("must be a whole number of 1 or more.")
    return int(text)
