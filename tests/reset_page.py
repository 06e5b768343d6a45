"""The page behind a link, as a person with a browser uses it."""

from __future__ import annotations

import datetime as dt
from typing import Any
from urllib.parse import urlsplit

from django.test import Client

from resetdelivery.directory import DjangoUserDirectory, get_directory
from resetdelivery.links import utc_now

OLD, NEW = "the old password", "quite another password"
INVALID = "This link no longer works"


def path_of_link(user: Any, expires_at: dt.datetime | None = None) -> str:
    """The path of a link to ``user``; ten minutes of life where none are given."""
    directory = get_directory()
    assert isinstance(directory, DjangoUserDirectory)
    account = directory.account(type(user).objects.get(pk=user.pk))
    until = expires_at or utc_now().replace(microsecond=0) + dt.timedelta(minutes=10)
    return urlsplit(directory.make_link(account, until)).path


def opened(client: Client, path: str) -> str:
    """Where a person is who clicked the link."""
    return client.get(path).headers["Location"]


def set_password(client: Client, page: str, password: str = NEW, **options: Any) -> Any:
    """The answer to the form on the page."""
    return client.post(page, {"new_password1": password, "new_password2": password}, **options)


def has_password(user: Any, password: str) -> bool:
    """Whether ``password`` is the stored one."""
    return bool(type(user).objects.get(pk=user.pk).check_password(password))
