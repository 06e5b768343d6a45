"""Forget one account: end what is open of it, and delete its rows and its pseudonyms.

One transaction under the account's lock, so that no request of the account is between two steps.
What a worker holds just now is asked to stop and loses its link to the account at once; its row is
one of nobody's from then on and goes the way of every decoy.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import OperationalError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from django.views.decorators.debug import sensitive_variables

from notifications.channels import Channel
from resetdelivery import audit
from resetdelivery.account_locks import (
    bounded_waits,
    hold_accounts,
    hold_destinations,
    is_lock_timeout,
)
from resetdelivery.cancellation import request_full_stop
from resetdelivery.claims.sql import ATTEMPT, DELIVERY, INTENT, lock_intents, marks
from resetdelivery.clock import as_datetime
from resetdelivery.directory import get_directory
from resetdelivery.domain.lease import waves
from resetdelivery.exceptions import AccountBusy, without_text
from resetdelivery.limits import LimitKey, limit_keys
from resetdelivery.models import IdempotencyKey, LimitUse
from resetdelivery.telemetry import counts

ACTION = "forget_account"
#: In the place of the reference of an account that was forgotten: shaped like a decoy's, and no
#: account's, so that the intent is purged as one.
NOBODY = "~" + "0" * 64
#: Intents deleted by one statement.
BATCH = 1000
KEY = IdempotencyKey._meta.db_table
USE = LimitUse._meta.db_table


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasedRows:
    """How many rows of each table were deleted."""

    intents: int = 0
    deliveries: int = 0
    attempts: int = 0
    idempotency_keys: int = 0
    limit_uses: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureReceipt:
    """What was done to forget an account, and what is left.

    ``reference_length`` is all that it says of whose it is. ``stopped`` is how many open intents were
    asked to stop. ``held`` intents stay, without their account, until the workers that hold them are
    done: by ``held_until``, the last lease's end, or the next sweep. ``destinations_known`` is whether
    the directory knew the account still: else the uses of its destinations could not be named.
    """

    reference_length: int
    deleted: ErasedRows
    stopped: int
    held: int
    held_until: dt.datetime | None
    destinations_known: bool


@sensitive_variables()
def forget(*, account_ref: str, who: str, why: str, using: str) -> ErasureReceipt:
    """Delete everything that names the account, and leave an audit entry that does not.

    :class:`~resetdelivery.exceptions.AccountBusy` if its locks were not to be had in time, and
    :class:`~resetdelivery.audit.InvalidAuditEntry`; nothing was changed then.
    """
    try:
        with transaction.atomic(using=using), bounded_waits(using=using):
            return _forget(account_ref, who, why, using)
    except OperationalError as error:
        if not is_lock_timeout(error):
            raise
    raise AccountBusy(of="account")


@sensitive_variables()
def _forget(account_ref: str, who: str, why: str, using: str) -> ErasureReceipt:
    connection = connections[using]
    hold_accounts([account_ref], using=using)
    account = without_text(get_directory().get_many, {account_ref}).get(account_ref)
    keys = [
        *limit_keys(account_ref, account, list(Channel)).all(),
        # The stand-ins of destinations that it had not, when it had none.
        *limit_keys(account_ref, None, list(Channel)).all(),
    ]
    hold_destinations(keys, using=using)
    with connection.cursor() as cursor:
        ids = _locked_intents(connection, cursor, account_ref)
        stopped = request_full_stop(account_ref=account_ref, using=using)
        ended, held = _by_state(cursor, ids)
        deleted = _delete(connection, cursor, ended, held, keys)
        held_until = _unlink(cursor, held)
    audit.record(who=who, action=ACTION, target=_target(deleted), why=why, using=using)
    return ErasureReceipt(
        reference_length=len(account_ref),
        deleted=deleted,
        stopped=stopped,
        held=len(held),
        held_until=held_until,
        destinations_known=account is not None,
    )


@sensitive_variables()
def _locked_intents(connection: BaseDatabaseWrapper, cursor: CursorWrapper, account_ref: str) -> list[int]:
    """The account's intents, locked before anything else of them is, in the order of everybody.

    By two partial indexes: what was scrubbed names no account.
    """
    cursor.execute(
        f"SELECT id FROM {INTENT} WHERE state = 'open' AND account_ref = %s UNION ALL "
        f"SELECT id FROM {INTENT} WHERE state = 'closed' AND scrubbed_at IS NULL AND account_ref = %s",
        [account_ref, account_ref],
    )
    ids = sorted(row_id for (row_id,) in cursor.fetchall())
    for some in waves(ids, BATCH):
        lock_intents(connection, cursor, some)
    return ids


def _by_state(cursor: CursorWrapper, ids: Sequence[int]) -> tuple[list[int], list[int]]:
    """Those that are closed by now, and those that a worker holds."""
    found: dict[bool, list[int]] = {True: [], False: []}
    for some in waves(ids, BATCH):
        cursor.execute(f"SELECT id, state FROM {INTENT} WHERE id IN ({marks(some)})", some)
        for row_id, state in cursor.fetchall():
            found[state == "closed"].append(row_id)
    return found[True], found[False]


def _delete(
    connection: BaseDatabaseWrapper,
    cursor: CursorWrapper,
    ended: Sequence[int],
    held: Sequence[int],
    limits: Sequence[LimitKey],
) -> ErasedRows:
    """Delete what has ended, and every pseudonym of what has not."""
    attempts = deliveries = keys = intents = 0
    for some in waves(ended, BATCH):
        cursor.execute(f"SELECT id FROM {DELIVERY} WHERE intent_id IN ({marks(some)}) ORDER BY id", some)
        rows = [row_id for (row_id,) in cursor.fetchall()]
        counts.keep(connection, rows, closed_too=True)
        attempts += _rows_gone(cursor, ATTEMPT, "delivery_id", rows)
        deliveries += _rows_gone(cursor, DELIVERY, "id", rows)
        keys += _rows_gone(cursor, KEY, "intent_id", some)
        intents += _rows_gone(cursor, INTENT, "id", some)
    for some in waves(held, BATCH):
        keys += _rows_gone(cursor, KEY, "intent_id", some)
    uses = _rows_gone(cursor, USE, "key_digest", sorted({name for key in limits for name in key.names}))
    return ErasedRows(
        intents=intents,
        deliveries=deliveries,
        attempts=attempts,
        idempotency_keys=keys,
        limit_uses=uses,
    )


@sensitive_variables()
def _rows_gone(cursor: CursorWrapper, table: str, column: str, values: Sequence[int | str]) -> int:
    cursor.execute(f"DELETE FROM {table} WHERE {column} IN ({marks(values)})", values)
    return int(cursor.rowcount)


def _unlink(cursor: CursorWrapper, held: Sequence[int]) -> dt.datetime | None:
    """Take the account off what workers hold; when the last of their leases ends.

    Whoever holds one has what it needs in memory: it marks nothing any more, as a stop was asked for,
    and settles what it submitted by ids alone.
    """
    if not held:
        return None
    cursor.execute(
        f"UPDATE {INTENT} SET account_ref = %s, account_digest = '' WHERE id IN ({marks(held)})",
        [NOBODY, *held],
    )
    cursor.execute(f"SELECT max(lease_expires_at) FROM {DELIVERY} WHERE intent_id IN ({marks(held)})", held)
    (ends,) = cursor.fetchone()
    return None if ends is None else as_datetime(ends)


def _target(deleted: ErasedRows) -> str:
    """Not whose it is, and no pseudonym either: that would lead back to the account."""
    return (
        f"an account: {deleted.intents} intents, {deleted.deliveries} deliveries, {deleted.attempts} attempts"
    )
