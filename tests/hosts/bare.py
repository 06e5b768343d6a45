"""Settings of the smallest project that can host the package, on a SQLite file of its own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

SECRET_KEY = "a secret key of a host project in a test, long enough to be one"
ALLOWED_HOSTS = ["shop.example", "testserver"]
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "resetdelivery",
    "notifications",
]
MIDDLEWARE = ["django.contrib.sessions.middleware.SessionMiddleware"]
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]
ROOT_URLCONF = "tests.hosts.reset_urls"
USE_TZ = True
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

WAL_AND_IMMEDIATE = {"transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=WAL;"}
DATABASES: dict[str, dict[str, Any]] = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": Path(os.environ["HOST_FOLDER"]) / "host.sqlite3",
        "OPTIONS": WAL_AND_IMMEDIATE,
    }
}

RESETDELIVERY: dict[str, Any] = {
    "RESET_BASE_URL": "https://shop.example",
    "CHANNELS": {
        "email": {"TRANSPORT": "notifications.console.ConsoleTransport"},
        "sms": {"TRANSPORT": "notifications.console.ConsoleTransport"},
    },
}
