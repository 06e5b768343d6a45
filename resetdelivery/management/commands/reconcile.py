"""``manage.py reconcile``: whether counts, states and attempts agree."""

from __future__ import annotations

import datetime as dt
import json
import re
import sys
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, ProgrammingError, router

from resetdelivery.management.database_argument import alias_of, not_answered
from resetdelivery.models import ResetIntent
from resetdelivery.reconciliation import InvalidWindow, reconcile

_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


class Command(BaseCommand):
    """Names every difference with its size and what it can mean; exit code 1 where there is one."""

    help = "Compare what was counted with what is stored: admissions, attempts, receipts, states and totals."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--window",
            type=window_of,
            default="1h",
            help="how far back: 1m to 7d, such as 15m, 1h (usual) or 2d",
        )
        parser.add_argument("--json", action="store_true", help="for programs")
        parser.add_argument(
            "--database", type=alias_of, help="the alias of the database, where it is not the usual one"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            report = reconcile(options["window"], using=options["database"])
        except InvalidWindow as error:
            raise CommandError(str(error)) from None
        except (OperationalError, ProgrammingError) as error:
            raise not_answered(error, options["database"] or router.db_for_read(ResetIntent)) from None
        if options["json"]:
            self.stdout.write(json.dumps(report.as_dict(), indent=2))
        else:
            self.stdout.write("\n".join(report.lines()))
        if not report.ok:
            sys.exit(1)


def window_of(text: str) -> dt.timedelta:
    """A duration such as 15m, 1h or 7d; for argparse."""
    match = re.fullmatch(r"([0-9]{1,5})([mhd])", text)
    if match is None:
        raise ArgumentTypeError("write a number and m, h or d, such as 15m, 1h or 7d")
    return dt.timedelta(**{_UNITS[match[2]]: int(match[1])})
