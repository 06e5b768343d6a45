"""``manage.py retention_report``: what is held, how old it is, and why."""

from __future__ import annotations

import datetime as dt
import json
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DEFAULT_DB_ALIAS, connections

from resetdelivery.retention.report import Holding, Report, report

HEADINGS = ("what", "rows", "oldest (UTC)", "kept for", "then", "past it", "why held")


class Command(BaseCommand):
    """Exit code 1 if something is held a day longer than the policy says. Shows numbers and moments only."""

    help = "Print what is held about password resets, how old it is, and why. Reads every table once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--database", default=DEFAULT_DB_ALIAS, help="the alias of the database")
        parser.add_argument("--json", action="store_true", help="the same for programs")

    def handle(self, *_: Any, database: str, **options: Any) -> None:
        if database not in connections:
            raise CommandError(f"There is no database alias of that name ({len(database)} characters).")
        found = report(using=database)
        if options["json"]:
            self.stdout.write(json.dumps(_document(found), indent=2))
        else:
            self._show(found)
        overdue = ", ".join(one.rule.name for one in found.overdue())
        if overdue:
            raise CommandError(f"Held more than a day longer than the policy says: {overdue}.", returncode=1)

    def _show(self, found: Report) -> None:
        counted = _minute(found.counted_before) or "nothing yet"
        self.stdout.write(f"At {_minute(found.at)} UTC; counted in the totals before: {counted}")
        rows = [HEADINGS, *map(_row, found.holdings)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            self.stdout.write(line.rstrip())


def _row(one: Holding) -> Sequence[str]:
    kept = "" if one.keep is None else str(one.keep)
    past = str(one.past) if one.past else ""
    name = f"{one.rule.model.__name__}: {one.rule.name}"
    return (name, str(one.rows), _minute(one.oldest), kept, one.rule.end.value, past, one.because.value)


def _minute(at: dt.datetime | None) -> str:
    return "" if at is None else f"{at.astimezone(dt.UTC):%Y-%m-%d %H:%M}"


def _document(found: Report) -> dict[str, Any]:
    return {
        "at": found.at.isoformat(),
        "counted_before": _iso(found.counted_before),
        "held": [
            {
                "name": one.rule.name,
                "table": one.rule.model._meta.db_table,
                "fields": list(one.rule.fields),
                "only": one.rule.only,
                "why": one.rule.why,
                "rows": one.rows,
                "oldest": _iso(one.oldest),
                "keep_seconds": None if one.keep is None else one.keep.total_seconds(),
                "then": one.rule.end.value,
                "past": one.past,
                "late_seconds": one.late.total_seconds(),
                "because": one.because.value,
            }
            for one in found.holdings
        ],
    }


def _iso(at: dt.datetime | None) -> str | None:
    return None if at is None else at.isoformat()
