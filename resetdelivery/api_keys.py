"""Keys of the internal HTTP boundary: whose a credential is; making, replacing and revoking them."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import Error, connections, router, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.views.decorators.debug import sensitive_variables

from resetdelivery import audit
from resetdelivery.claims.sql import lock_sql
from resetdelivery.clock import after_sql, database_now, now_sql
from resetdelivery.domain.api_key import (
    ENTROPY_BYTES,
    MAX_ACTIVE_KEYS,
    ApiKeyRefused,
    Scope,
    checked_client_name,
    checked_key_id,
    digest,
    key_text,
    matches,
    parse,
    scope_text,
    scopes_of,
    too_many_keys,
)
from resetdelivery.models import ApiClient, ApiKey

#: A last use that is younger than this is not written again.
LAST_USED_SECONDS = 60

_KEY = ApiKey._meta.db_table
_CLIENT = ApiClient._meta.db_table


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who makes a request, and what for."""

    client: str
    key_id: str
    scopes: frozenset[Scope]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key just made. Its ``text`` is here and nowhere else: only a digest of it is stored."""

    client: str
    key_id: str
    scopes: frozenset[Scope]
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class _StoredKey:
    """A row as it was read; SQLite's truth values are 0 and 1."""

    id: int
    client: str
    scopes: str
    active: bool
    use_is_old: bool
    secret_digest: str = field(repr=False)


@sensitive_variables()
def authenticate(credential: str, *, using: str | None = None) -> Caller | None:
    """Whose key this is; ``None`` for anything that is no active key of anybody, whatever it holds.

    Every answer costs the same one query and one comparison in constant time. The key's last use
    is kept to the minute, and never at the cost of the request: a write that would have to wait
    for somebody, or that fails, is left to the next request.
    """
    connection = connections[using or router.db_for_write(ApiKey)]
    # No key has an empty id: what has no form is looked for as well, and not found.
    key_id, secret = parse(credential) or ("", "")
    stored = _stored(connection, key_id)
    known = matches(secret, None if stored is None else stored.secret_digest)
    if not known or stored is None or not stored.active:
        return None
    if stored.use_is_old:
        _note_use(connection, stored.id)
    return Caller(client=stored.client, key_id=key_id, scopes=scopes_of(stored.scopes))


def _use_is_old(connection: BaseDatabaseWrapper) -> str:
    """SQL for whether a key's last use should be written; one parameter, ``-LAST_USED_SECONDS``."""
    return f"(last_used_at IS NULL OR last_used_at <= {after_sql(connection)})"


def _stored(connection: BaseDatabaseWrapper, key_id: str) -> _StoredKey | None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT k.id, c.name, k.scopes, k.revoked_at IS NULL, {_use_is_old(connection)}, k.secret_digest"
            f" FROM {_KEY} k JOIN {_CLIENT} c ON c.id = k.client_id WHERE k.key_id = %s",
            [-LAST_USED_SECONDS, key_id],
        )
        row: tuple[Any, ...] | None = cursor.fetchone()
    return None if row is None else _StoredKey(*row)


def _note_use(connection: BaseDatabaseWrapper, row_id: int) -> None:
    """Write the last use, unless somebody just did, is just doing it, or nothing can be written."""
    try:
        # A savepoint where there is a transaction: the request goes on in it after an error.
        with (
            _without_waiting(connection),
            transaction.atomic(using=connection.alias),
            connection.cursor() as cursor,
        ):
            cursor.execute(
                f"UPDATE {_KEY} SET last_used_at = {now_sql(connection)} WHERE id = ("
                f"SELECT id FROM {_KEY} WHERE id = %s AND {_use_is_old(connection)} "
                f"{lock_sql(connection, 'skip')})",
                [row_id, -LAST_USED_SECONDS],
            )
    except Error:
        return


@contextmanager
def _without_waiting(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """SQLite has no rows to skip: there, a database that somebody else writes to is an error at once."""
    if connection.vendor != "sqlite":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        (milliseconds,) = cursor.fetchone()
        cursor.execute("PRAGMA busy_timeout = 0")
        try:
            yield
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {int(milliseconds)}")


@sensitive_variables()
def create_client_key(
    *, client: str, scopes: Iterable[Scope], who: str, why: str = "", using: str | None = None
) -> NewKey:
    """A new key for ``client``, which is made where there is none of that name.

    ``who`` asks for it and ``why`` go to the audit trail. Raises
    :class:`~resetdelivery.domain.api_key.ApiKeyRefused` for a name or scopes that cannot be, and
    for a client that has two active keys; :class:`~resetdelivery.audit.InvalidAuditEntry`.
    """
    name, words = checked_client_name(client), scope_text(scopes)
    alias = using or router.db_for_write(ApiKey)
    with transaction.atomic(using=alias):
        now = database_now(connections[alias])
        ApiClient.objects.using(alias).get_or_create(name=name, defaults={"created_at": now})
        owner = _hold(name, alias)
        new = _add_key(owner, _active_keys(owner, alias), words, alias)
        audit.record(
            who=who, action="api_key_created", target=_target(name, new.key_id), why=why, using=alias
        )
    return new


@sensitive_variables()
def rotate(*, client: str, who: str, why: str = "", using: str | None = None) -> NewKey:
    """A second key for ``client`` with the scopes of its newest active one, which goes on working.

    Raises as :func:`create_client_key` does, and for a client that has no active key.
    """
    name = checked_client_name(client)
    alias = using or router.db_for_write(ApiKey)
    with transaction.atomic(using=alias):
        owner = _hold(name, alias)
        active = _active_keys(owner, alias)
        if not active:
            raise ApiKeyRefused(
                f"Client {name!r} has no active key to rotate. Create one: manage.py api_key create {name}"
            )
        new = _add_key(owner, active, active[-1].scopes, alias)
        audit.record(
            who=who, action="api_key_rotated", target=_target(name, new.key_id), why=why, using=alias
        )
    return new


def revoke(*, key_id: str, who: str, why: str = "", using: str | None = None) -> bool:
    """End a key, at once and for good; whether this did it, and not somebody before.

    Raises :class:`~resetdelivery.domain.api_key.ApiKeyRefused` if no key has this id, and
    :class:`~resetdelivery.audit.InvalidAuditEntry`.
    """
    alias = using or router.db_for_write(ApiKey)
    named = ApiKey.objects.using(alias).filter(key_id=checked_key_id(key_id))
    with transaction.atomic(using=alias):
        key = named.select_related("client").first()
        if key is None:
            raise ApiKeyRefused(f"There is no key {key_id}. 'manage.py api_key list' shows those there are.")
        now = database_now(connections[alias])
        if not named.filter(revoked_at=None).update(revoked_at=now):
            return False
        target = _target(key.client.name, key_id)
        audit.record(who=who, action="api_key_revoked", target=target, why=why, using=alias)
    return True


def _hold(name: str, alias: str) -> ApiClient:
    """The client, locked until the commit, so that its keys are counted by one at a time."""
    owner = ApiClient.objects.using(alias).select_for_update(no_key=True).filter(name=name).first()
    if owner is None:
        raise ApiKeyRefused(f"There is no client {name!r}. 'manage.py api_key list' shows those there are.")
    return owner


def _active_keys(owner: ApiClient, alias: str) -> list[ApiKey]:
    """The client's keys that are not revoked, oldest first."""
    return list(ApiKey.objects.using(alias).filter(client=owner, revoked_at=None).order_by("pk"))


@sensitive_variables()
def _add_key(owner: ApiClient, active: list[ApiKey], scopes: str, alias: str) -> NewKey:
    if len(active) >= MAX_ACTIVE_KEYS:
        raise too_many_keys(owner.name, [key.key_id for key in active])
    text = key_text(secrets.token_bytes(ENTROPY_BYTES))
    key_id, secret = parse(text) or ("", "")
    ApiKey.objects.using(alias).create(
        client=owner,
        key_id=key_id,
        secret_digest=digest(secret),
        scopes=scopes,
        created_at=database_now(connections[alias]),
    )
    return NewKey(client=owner.name, key_id=key_id, scopes=scopes_of(scopes), text=text)


def _target(client: str, key_id: str) -> str:
    """The name of a key in the audit trail."""
    return f"{client}/{key_id}"
