"""``manage.py rollout``: move a live sender over, step by step, and back."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from resetdelivery.exceptions import ResetDeliveryError
from resetdelivery.management.rollout import comparison, control, verification

_PARTS = (control, comparison, verification)
_STEPS = {name: step for part in _PARTS for name, step in part.STEPS.items()}


class Command(BaseCommand):
    """Says what each step saw; the exit code is 1 where not all is well."""

    help = "Move a live sender over, step by step, and back."

    def add_arguments(self, parser: ArgumentParser) -> None:
        steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
        for part in _PARTS:
            part.add(steps)

    def handle(self, *_: Any, step: str, **options: Any) -> None:
        try:
            well = _STEPS[step](options, self.stdout.write)
        except ResetDeliveryError as error:
            raise CommandError(str(error)) from None
        if not well:
            sys.exit(1)
