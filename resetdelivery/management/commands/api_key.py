"""``manage.py api_key``: make, replace, revoke and list the keys of the internal HTTP boundary."""

from __future__ import annotations

import datetime as dt
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.views.decorators.debug import sensitive_variables

from resetdelivery.api_keys import NewKey, create_client_key, revoke, rotate
from resetdelivery.domain.api_key import Scope
from resetdelivery.exceptions import ResetDeliveryError
from resetdelivery.management.operator import operator
from resetdelivery.models import ApiClient, ApiKey

HEADINGS = ("client", "key id", "scopes", "created (UTC)", "last used (UTC)", "revoked (UTC)")
NOTHING = "-"


class Command(BaseCommand):
    """A new key is all there is on standard output; what to do with it is on standard error."""

    help = "Create, rotate, revoke and list the keys with which services call the internal HTTP boundary."

    def add_arguments(self, parser: ArgumentParser) -> None:
        steps = parser.add_subparsers(dest="step", required=True, metavar="create|rotate|revoke|list")
        create = steps.add_parser("create", help="a key for a client, new or not, with these scopes")
        create.add_argument("name", help="the client's name, such as shop-web")
        create.add_argument(
            "--scope",
            dest="scopes",
            action="append",
            required=True,
            type=_scope,
            help=f"one of {', '.join(Scope)}; may be repeated",
        )
        again = steps.add_parser("rotate", help="a second key, with the scopes of the newest")
        again.add_argument("name", help="the client's name")
        end = steps.add_parser("revoke", help="end a key at once")
        end.add_argument("key_id", help="the 12 characters after 'rd_'")
        for changes in (create, again, end):
            changes.add_argument("--why", default="", help="a reason for the audit trail")
        steps.add_parser("list", help="all keys, or a client's").add_argument("name", nargs="?")

    def handle(self, *_: Any, step: str, **options: Any) -> None:
        steps: dict[str, Callable[..., None]] = {
            "create": self._create,
            "rotate": self._rotate,
            "revoke": self._revoke,
            "list": self._list,
        }
        try:
            steps[step](**options)
        except ResetDeliveryError as error:
            raise CommandError(str(error)) from None

    def _create(self, *, name: str, scopes: Sequence[Scope], why: str, **_: Any) -> None:
        self._show(create_client_key(client=name, scopes=scopes, who=operator(), why=why))

    def _rotate(self, *, name: str, why: str, **_: Any) -> None:
        new = rotate(client=name, who=operator(), why=why)
        self._show(new)
        self._hint("The key before it still works. Revoke it when 'list' shows that it is not used any more.")

    def _revoke(self, *, key_id: str, why: str, **_: Any) -> None:
        done = revoke(key_id=key_id, who=operator(), why=why)
        self._hint(f"Key {key_id} is revoked." if done else f"Key {key_id} was revoked before.")

    def _list(self, *, name: str | None, **_: Any) -> None:
        if name is not None and not ApiClient.objects.filter(name=name).exists():
            raise CommandError(
                f"There is no client of this name ({len(name)} characters). "
                "'manage.py api_key list' shows those there are."
            )
        keys = ApiKey.objects.select_related("client").order_by("client__name", "pk")
        for line in _table(list(keys if name is None else keys.filter(client__name=name))):
            self.stdout.write(line)

    @sensitive_variables()
    def _show(self, new: NewKey) -> None:
        self.stdout.write(new.text)
        self._hint(
            f"Key {new.key_id} of client {new.client}, for {', '.join(sorted(new.scopes))}. "
            "This is the only time it is shown; only a digest of it is stored."
        )

    def _hint(self, text: str) -> None:
        self.stderr.write(text, style_func=str)


def _scope(word: str) -> Scope:
    try:
        return Scope(word)
    except ValueError:
        # Not the word itself: it may be anything that was pasted.
        raise ArgumentTypeError(f"must be one of {', '.join(Scope)}") from None


def _table(keys: Sequence[ApiKey]) -> Iterator[str]:
    rows = [HEADINGS, *map(_row, keys)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _row(key: ApiKey) -> tuple[str, ...]:
    moments = (key.created_at, key.last_used_at, key.revoked_at)
    return (key.client.name, key.key_id, key.scopes, *map(_minute, moments))


def _minute(at: dt.datetime | None) -> str:
    return NOTHING if at is None else f"{at.astimezone(dt.UTC):%Y-%m-%d %H:%M}"
