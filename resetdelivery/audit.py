"""The audit trail: who changed what, and why, in the transaction that changes it."""

from __future__ import annotations

from typing import cast

from django.db import connections, router
from django.db.models import CharField

from resetdelivery.clock import database_now
from resetdelivery.exceptions import ResetDeliveryError
from resetdelivery.models import AuditEntry


class InvalidAuditEntry(ResetDeliveryError, ValueError):
    """A part of an entry is empty, too long or not printable; nothing was stored."""


def record(*, who: str, action: str, target: str, why: str = "", using: str | None = None) -> None:
    """Store one entry, at the database's time.

    Call it inside the transaction of the change, so that there is never the one without the other.
    ``who`` is a person's or program's name (up to 150 characters), ``action`` (64) and ``target``
    (128) are words and names of ours, ``why`` (255, may be empty) is the operator's own text. None of
    them may hold a secret or anything personal of an account.

    Raises :class:`InvalidAuditEntry`.
    """
    alias = using or router.db_for_write(AuditEntry)
    texts = {"who": who, "action": action, "target": target, "why": " ".join(why.split())}
    for name, text in texts.items():
        _check(name, text)
    AuditEntry.objects.using(alias).create(at=database_now(connections[alias]), **texts)


def _check(name: str, text: str) -> None:
    longest = cast("CharField[str, str]", AuditEntry._meta.get_field(name)).max_length or 0
    if len(text) > longest:
        raise InvalidAuditEntry(f"{name} has {len(text)} characters; {longest} are allowed. Shorten it.")
    if not text.isprintable():
        raise InvalidAuditEntry(
            f"{name} ({len(text)} characters) holds one that cannot be printed. Leave that out."
        )
    if not text and name != "why":
        raise InvalidAuditEntry(f"{name} must not be empty: an entry says {name} it was.")
