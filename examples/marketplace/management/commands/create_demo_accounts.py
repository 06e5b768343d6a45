from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import dataclass
from typing import Any

from django.core.management.base import BaseCommand
from django.utils.crypto import get_random_string

from examples.marketplace.models import User


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoAccount:
    """One person of the demo. The numbers are ones that Germany keeps for films."""

    username: str
    first_name: str
    phone: str

    @property
    def email(self) -> str:
        return f"{self.username}@shop.example"


DEMO_ACCOUNTS = (
    DemoAccount(username="anna", first_name="Anna", phone="+4915228817386"),
    DemoAccount(username="ben", first_name="Ben", phone="+4917604069001"),
)
HEADINGS = ("username", "email", "phone", "password")
UNCHANGED = "(unchanged)"


class Command(BaseCommand):
    help = "Creates two customers for the demo, if they are missing, and prints how to sign in."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--new-passwords",
            action="store_true",
            help="Give the customers that exist already a new password too.",
        )

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002
        rows = [self._row(account, renew=options["new_passwords"]) for account in DEMO_ACCOUNTS]
        self.stdout.write(table([HEADINGS, *rows]))

    def _row(self, account: DemoAccount, *, renew: bool) -> tuple[str, ...]:
        user, created = User.objects.get_or_create(
            username=account.username,
            defaults={"first_name": account.first_name, "email": account.email, "phone": account.phone},
        )
        password = UNCHANGED
        if created or renew:
            password = get_random_string(12)
            user.set_password(password)
            user.save(update_fields=["password"])
        return user.username, user.email, user.phone, password


def table(rows: list[tuple[str, ...]]) -> str:
    """Rows as lines of text, each column as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
