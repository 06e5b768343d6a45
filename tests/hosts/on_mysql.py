from __future__ import annotations

from tests.hosts.bare import *  # noqa: F403

DATABASES = {"default": {"ENGINE": "django.db.backends.mysql", "NAME": "shop"}}
