"""Settings of the test run: the project's, with short leases, on the database that was asked for."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from urllib.parse import urlsplit

from config.env import env
from config.settings import *
from config.settings import DATABASES, RESETDELIVERY
from resetdelivery import logs

# A log line outside the schema fails the test.
logs.be_strict()

SECRET_KEY = "a secret key for tests only, long enough not to be complained about"
DEBUG = False
ALLOWED_HOSTS = ["testserver", "localhost", "127.0.0.1"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # A file, because worker processes open it too and WAL needs one.
    file = Path(urlsplit(env.str("DATABASE_URL")).path)
    DATABASES["default"]["TEST"] = {"NAME": str(file.with_name("test_main.sqlite3"))}
else:
    # A pool would hold connections to the test database when it is dropped.
    DATABASES["default"]["OPTIONS"].pop("pool")

LIMITS = ("ACCOUNT_PER_HOUR", "ACCOUNT_PER_DAY", "DESTINATION_PER_HOUR", "DESTINATION_PER_DAY")
RESETDELIVERY = {
    **RESETDELIVERY,
    "RESET_BASE_URL": "https://shop.example",
    "LINK_KEYS": ["a link key for tests, long enough to be a real one"],
    "PSEUDONYM_KEYS": {"t1": "a pseudonym key for tests"},
    "MIN_USEFUL": dt.timedelta(seconds=5),
    "DISPATCH": "database",
    # No test but those of the limits is to run into one, and none into a lock that is only slow.
    **dict.fromkeys(LIMITS, 1000),
    "ADMISSION_LOCK_TIMEOUT": dt.timedelta(seconds=30),
    "CHANNELS": {
        "email": {"TRANSPORT": "tests.transports.email"},
        "sms": {"TRANSPORT": "tests.transports.sms"},
    },
}
