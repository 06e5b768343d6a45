"""``manage.py run_poller``: deliver straight from the database, without a broker."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from resetdelivery.poller import Poller


class Command(BaseCommand):
    """Claims due deliveries on every channel until it is told to stop, and runs the sweep."""

    help = "Deliver password resets straight from the database, without a broker."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="make one round and stop")

    def handle(self, *_: Any, **options: Any) -> None:
        poller = Poller()
        if options["once"]:
            self.stdout.write(f"{poller.run_once()} deliveries claimed")
            return
        poller.stop_on_signals()
        self.stdout.write("polling; stop with Ctrl-C")
        self.stdout.flush()
        poller.run()
