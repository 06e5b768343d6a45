"""``manage.py delivery_budget``: whether resets can still help when all goes badly; how many come through."""

from __future__ import annotations

import datetime as dt
import json
import shutil
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, ProgrammingError, router

from notifications.channels import Channel
from resetdelivery.conf import Dispatch, Settings, get_settings
from resetdelivery.decision_rule import DecisionRule, as_json, decide, picture, report
from resetdelivery.decision_rule.capacity import capacity_lines
from resetdelivery.exceptions import ResetDeliveryError
from resetdelivery.management.commands.reconcile import window_of
from resetdelivery.management.database_argument import alias_of, not_answered
from resetdelivery.models import ResetIntent

_OF_RULE = ("json", "svg", "boundary", "configured_only", "database")
_OF_CAPACITY = ("latency", "workers", "concurrency", "wave", "spread", "costs")


class Command(BaseCommand):
    """Prints both halves of the decision rule; the exit code is 1 where one of them does not hold."""

    help = "Print whether resets can still help when all goes badly, and fail where they cannot."
    # What the checks refuse (E014) is what this explains.
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--channel", choices=[c.value for c in Channel], help="only this one")
        parser.add_argument(
            "--boundary", choices=[d.value for d in Dispatch], help="as if DISPATCH were set so"
        )
        parser.add_argument(
            "--window",
            type=window_of,
            default="24h",
            help="how far back to measure and to reconcile: 1m to 7d, such as 15m or 24h (usual)",
        )
        parser.add_argument("--configured-only", action="store_true", help="by settings; asks no database")
        parser.add_argument("--svg", metavar="FILE", help="write the timeline there as a picture too")
        parser.add_argument("--json", action="store_true", help="for programs")
        parser.add_argument(
            "--database", type=alias_of, help="the alias of the database, where it is not the usual one"
        )
        _add_capacity(parser)

    def handle(self, *_: Any, **options: Any) -> None:
        _refuse_mixed(options)
        if options["arrivals"]:
            self._capacity(options)
            return
        settings = get_settings()
        rule = _decided(settings, options)
        if options["svg"]:
            _write(Path(options["svg"]), picture(rule))
        if options["json"]:
            self.stdout.write(json.dumps(as_json(rule), indent=2))
        else:
            for line in report(rule, settings, width=shutil.get_terminal_size().columns):
                self.stdout.write(line)
        if not rule.holds:
            sys.exit(1)

    def _capacity(self, options: dict[str, Any]) -> None:
        if not (options["latency"] and options["workers"]):
            raise CommandError("--arrivals needs --latency and --workers, such as 120ms and 4.")
        names = ("arrivals", "latency", "workers", "concurrency", "wave", "channel")
        texts = {name: options[name] for name in ("spread", "costs") if options[name]}
        if options["channel"]:
            _channels(get_settings(), options["channel"])
        try:
            answer = capacity_lines(**{name: options[name] for name in names}, **texts)
        except ResetDeliveryError as error:
            raise CommandError(str(error)) from None
        for line in answer.lines:
            self.stdout.write(line)
        if not answer.holds:
            sys.exit(1)


def _add_capacity(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("capacity", "how far workers reach, and what breaks first")
    group.add_argument("--arrivals", metavar="RATE", help="resets, such as 2000/s or 120/min")
    group.add_argument("--latency", metavar="TIME", help="how long a provider's answer takes, such as 120ms")
    group.add_argument("--workers", type=int, metavar="N", help="worker processes of the channel")
    group.add_argument("--concurrency", type=int, metavar="C", help="threads of each (8)")
    group.add_argument("--wave", type=int, metavar="W", help="submissions at a time, for the setting")
    group.add_argument("--spread", metavar="TIME", help="the latency's standard deviation (0ms)")
    group.add_argument("--costs", metavar="FILE", help="what bench.capacity measured here")


def _refuse_mixed(options: dict[str, Any]) -> None:
    """An option that would go unheeded is refused: two questions share this command."""
    others, words = (_OF_RULE, "cannot go with") if options["arrivals"] else (_OF_CAPACITY, "needs")
    for name in others:
        if options[name] not in (None, False):
            raise CommandError(f"--{name.replace('_', '-')} {words} --arrivals.")


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(
            f"The picture cannot be written to the file of --svg ({error.strerror})."
        ) from None


def _decided(settings: Settings, options: dict[str, Any]) -> DecisionRule:
    window: dt.timedelta = options["window"]
    using = options["database"] or router.db_for_read(ResetIntent)
    try:
        return decide(
            settings,
            channels=_channels(settings, options["channel"]),
            boundary=Dispatch(options["boundary"] or settings.dispatch),
            window=None if options["configured_only"] else window,
            using=using,
        )
    except ResetDeliveryError as error:
        raise CommandError(str(error)) from None
    except (OperationalError, ProgrammingError) as error:
        raise not_answered(error, using) from None


def _channels(settings: Settings, wanted: str | None) -> list[Channel]:
    if wanted is None:
        return list(settings.channels)
    if wanted not in settings.channels:
        raise CommandError(f"The channel {wanted!r} is not configured; {', '.join(settings.channels)} are.")
    return [Channel(wanted)]
