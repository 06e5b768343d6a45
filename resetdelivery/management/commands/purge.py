"""``manage.py purge``: scrub and delete what is kept no longer, in short transactions."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DEFAULT_DB_ALIAS, connections

from resetdelivery.domain.retention import PurgeStep
from resetdelivery.domain.telemetry import Job
from resetdelivery.exceptions import StepFailed, without_text
from resetdelivery.retention import Purged, purge
from resetdelivery.telemetry.jobs import recorded, succeeded
from resetdelivery.telemetry.rollup import roll_up

#: Between two lines of progress.
LINE_SECONDS = 1.0


class Command(BaseCommand):
    """Progress goes to standard error, the sums to standard output. It may be stopped and run again."""

    help = "Count what is not counted yet, then scrub and delete what is kept no longer."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--database", default=DEFAULT_DB_ALIAS, help="the alias of the database")
        parser.add_argument("--all", action="store_true", help="go on until nothing is left to purge")

    def handle(self, *_: Any, database: str, **options: Any) -> None:
        if database not in connections:
            raise CommandError(f"There is no database alias of that name ({len(database)} characters).")
        self._rows: Counter[PurgeStep] = Counter()
        self._next_line = time.monotonic() + LINE_SECONDS
        try:
            purged = self._purge(database, sys.maxsize if options["all"] else None)
        except StepFailed as error:
            raise CommandError(f"A step failed, the others were done: {error}") from None
        for step, rows in purged.rows.items():
            self.stdout.write(f"{step.value:<20} {rows:>10}")
        if purged.waits_for_rollup:
            self.stderr.write(
                "Some rows stay although their time is over: they are not counted yet. Run it again."
            )

    def _purge(self, using: str, limit: int | None) -> Purged:
        # Nothing goes that is not in the totals.
        self._roll_up(using)
        with recorded(Job.PURGE, using=using):
            return purge(using=using, limit=limit, progress=self._progress)

    def _roll_up(self, using: str) -> None:
        started = time.monotonic()
        while (rolled := without_text(roll_up, using=using)).behind:
            self._tell("rolling up")
        if not rolled.busy:
            succeeded(Job.ROLL_UP, took_seconds=time.monotonic() - started, using=using)

    def _progress(self, step: PurgeStep, rows: int) -> None:
        self._rows[step] += rows
        self._tell(f"{step.value}: {self._rows[step]} rows")

    def _tell(self, text: str) -> None:
        if time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + LINE_SECONDS
            self.stderr.write(text, style_func=str)
