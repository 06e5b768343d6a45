"""``manage.py reset_timeline``: what happened to one reset, and why."""

from __future__ import annotations

import uuid
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from resetdelivery.models import ResetIntent
from resetdelivery.services import explain


class Command(BaseCommand):
    """Prints the timeline of an intent, named by its reference, or of the latest one."""

    help = "Print what happened to one password reset, and why."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("reference", nargs="?", type=uuid.UUID, help="the intent's reference")
        parser.add_argument("--latest", action="store_true", help="the intent that was stored last")

    def handle(self, *_: Any, **options: Any) -> None:
        timeline = explain(self._reference(options))
        self.stdout.write(f"intent {timeline.reference} ({timeline.state})")
        for line in timeline.lines():
            self.stdout.write(line)

    def _reference(self, options: dict[str, Any]) -> uuid.UUID:
        intents = ResetIntent.objects.order_by("pk")
        if options["reference"]:
            intents = intents.filter(reference=options["reference"])
        elif not options["latest"]:
            raise CommandError("Name an intent by its reference, or ask for --latest.")
        intent = intents.last()
        if intent is None:
            raise CommandError("There is no such intent.")
        return intent.reference
