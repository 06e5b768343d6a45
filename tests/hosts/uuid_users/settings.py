"""A project in New York, whose members have UUID keys and no phone, on the run's own database."""

from __future__ import annotations

import os

import environ

from tests.hosts.bare import *  # noqa: F403
from tests.hosts.bare import DATABASES, INSTALLED_APPS, WAL_AND_IMMEDIATE

INSTALLED_APPS = [*INSTALLED_APPS, "tests.hosts.uuid_users"]
AUTH_USER_MODEL = "uuid_users.Member"
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
TIME_ZONE = "America/New_York"

DATABASES["default"] = environ.Env().db("DATABASE_URL")
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"] |= {"OPTIONS": WAL_AND_IMMEDIATE, "TEST": {"NAME": None}}
else:
    # A name of this run's own: the runner drops what it finds under it.
    DATABASES["default"]["TEST"] = {"NAME": f"test_uuid_users_{os.getpid()}"}
