"""The database that the tests made, as other processes are told of it."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from django.db import connection


def database_url() -> str:
    """The address of the test database, never of the one it was made beside."""
    name = str(connection.settings_dict["NAME"])
    if connection.vendor == "sqlite":
        return f"sqlite:///{name}"
    return urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}").geturl()
