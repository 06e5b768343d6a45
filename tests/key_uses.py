"""Keys of callers for tests: one that was made, when it was used, and what the database is asked."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection

from resetdelivery.api_keys import NewKey
from resetdelivery.clock import database_now
from resetdelivery.models import ApiKey


def used(key: NewKey) -> dt.datetime | None:
    return ApiKey.objects.get(key_id=key.key_id).last_used_at


def use(key: NewKey, seconds_ago: float) -> dt.datetime:
    """Have the key used that long ago."""
    at = database_now(connection) - dt.timedelta(seconds=seconds_ago)
    ApiKey.objects.filter(key_id=key.key_id).update(last_used_at=at)
    return at


@contextmanager
def statements() -> Iterator[list[str]]:
    """What is sent to the database meanwhile, without the values."""
    sent: list[str] = []

    def note(execute: Any, sql: str, *rest: Any) -> Any:
        sent.append(sql)
        return execute(sql, *rest)

    with connection.execute_wrapper(note):
        yield sent
