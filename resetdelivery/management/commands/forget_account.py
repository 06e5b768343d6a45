"""``manage.py forget_account``: erase what is stored of one account."""

from __future__ import annotations

import getpass
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.views.decorators.debug import sensitive_variables

from resetdelivery.conf import get_settings
from resetdelivery.exceptions import ResetDeliveryError
from resetdelivery.management.operator import operator
from resetdelivery.services import ErasureReceipt, forget_account
from resetdelivery.timeline.answers import lasting


class Command(BaseCommand):
    """Prints a receipt on standard output; of the reference it says how long it is and no more."""

    help = (
        "Erase one account's resets with their attempts, keys and pseudonyms, and cancel what is open. "
        "Lifetime totals stay as they are."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "account_ref",
            metavar="REF",
            help="the account's reference, or - to read it from standard input: an argument lands in the "
            "shell's history and in the list of processes",
        )
        parser.add_argument("--no-input", action="store_true", help="do not ask whether to go on")
        parser.add_argument(
            "--why",
            default="",
            help="a reason for the audit trail, such as a ticket's number; no name",
        )
        parser.add_argument("--database", help="the alias of the database, where it is not the usual one")

    @sensitive_variables()
    def handle(self, *_: Any, **options: Any) -> None:
        ref = _read(asks=not options["no_input"]) if options["account_ref"] == "-" else options["account_ref"]
        if not options["no_input"]:
            self._confirm(ref)
        try:
            receipt = forget_account(
                account_ref=ref, who=operator(), why=options["why"], using=options["database"]
            )
        except ResetDeliveryError as error:
            raise CommandError(str(error)) from None
        for line in _lines(receipt):
            self.stdout.write(line)

    @sensitive_variables()
    def _confirm(self, ref: str) -> None:
        self.stderr.write(
            f"This deletes all that is stored of the account whose reference has {len(ref)} characters, and "
            "cancels what is open of it. It cannot be undone. An account that is not deleted in the shop "
            "can ask for a reset again, which is stored anew.",
            style_func=str,
        )
        if input("Type 'yes' to go on: ").strip() != "yes":
            raise CommandError("Nothing was changed.")


@sensitive_variables()
def _read(*, asks: bool) -> str:
    """The reference from standard input, without showing it where somebody types it."""
    if sys.stdin.isatty():
        return getpass.getpass("The account's reference (it is not shown): ")
    if asks:
        raise CommandError("Standard input holds the reference, so nobody can be asked. Add --no-input.")
    return sys.stdin.readline().rstrip("\r\n")


def _lines(receipt: ErasureReceipt) -> Iterator[str]:
    yield f"The account is forgotten (its reference has {receipt.reference_length} characters)."
    yield ""
    yield "deleted"
    for field in fields(receipt.deleted):
        number: int = getattr(receipt.deleted, field.name)
        yield f"  {number:>7}  {field.name.replace('_', ' ')}"
    yield f"stopped: {receipt.stopped} open intents were asked to stop"
    yield from _left(receipt)
    yield "kept: lifetime totals and counts by minute, and an audit entry that does not say whose this was"


def _left(receipt: ErasureReceipt) -> Iterator[str]:
    if receipt.held:
        until = f" by {receipt.held_until:%H:%M:%S} UTC or the next sweep" if receipt.held_until else ""
        yield (
            f"left: {receipt.held} intents that a worker holds. They name the account no more, end{until}, "
            f"and are deleted by purge {lasting(get_settings().keep_decoys)} later"
        )
    else:
        yield "left: nothing"
    if not receipt.destinations_known:
        yield (
            "left: the directory does not know the account, so what its destinations were counted by could "
            "not be named. Those pseudonyms are deleted by purge when they are a day old"
        )
