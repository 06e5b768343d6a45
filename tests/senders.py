"""Who may send, for tests: how a channel stands, and an account's number worked out anew."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from notifications.channels import Channel
from resetdelivery.domain.states import Authority
from resetdelivery.models import ChannelControl, Delivery
from resetdelivery.services import Admission

#: The pseudonym key of the test settings, which is the one whose id sorts first.
SECRET = "a pseudonym key for tests"
TABLE = Delivery._meta.db_table
#: Whose a new delivery is, by its channel's mode, where the slice holds everybody.
POSITIONS = {"legacy": Authority.LEGACY, "shadow": Authority.SHADOW, "live": Authority.PIPELINE}
CHANGED = "an authority was changed"


def move(channel: Channel | str, mode: str, size: int = 1000) -> None:
    """Set a channel's mode and slice, as a step of the rollout leaves them."""
    values = {"mode": mode, "slice_per_mille": size}
    ChannelControl.objects.update_or_create(channel=str(channel), defaults=values)


def senders_of(answer: Admission) -> dict[str, str]:
    """Per channel, whose the deliveries of an answer's intent are."""
    rows = Delivery.objects.filter(intent__reference=answer.reference)
    return dict(rows.values_list("channel", "authority"))


def number_of(*refs: str, secret: str = SECRET) -> int:
    """The number by which the accounts of one request are in a slice or not."""
    parts = (b"rollout slice", min(refs).encode())
    message = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return int(hmac.new(secret.encode(), message, hashlib.sha256).hexdigest(), 16) % 1000


@contextmanager
def no_authority_changes() -> Iterator[None]:
    """While it lasts the database refuses every statement that changes a delivery's authority."""
    if connection.vendor == "sqlite":
        made = [
            f"CREATE TRIGGER kept_authority BEFORE UPDATE OF authority ON {TABLE} "
            f"WHEN OLD.authority <> NEW.authority BEGIN SELECT RAISE(ABORT, '{CHANGED}'); END"
        ]
        dropped = ["DROP TRIGGER kept_authority"]
    else:
        made = [
            "CREATE FUNCTION keep_authority() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{CHANGED}'; END $$",
            f"CREATE TRIGGER kept_authority BEFORE UPDATE ON {TABLE} FOR EACH ROW "
            "WHEN (OLD.authority <> NEW.authority) EXECUTE FUNCTION keep_authority()",
        ]
        dropped = [f"DROP TRIGGER kept_authority ON {TABLE}", "DROP FUNCTION keep_authority()"]
    _run(made)
    try:
        yield
    finally:
        _run(dropped)


def _run(statements: list[str]) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
