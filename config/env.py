"""The environment, read in one place."""

from __future__ import annotations

from pathlib import Path

import environ
from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parent.parent

env = environ.Env()
env.read_env(BASE_DIR / ".env")


def keys_by_id(values: list[str]) -> dict[str, str]:
    """Keys written as ``id:key``, the one for new digests first; one alone may go without, and is "1".

    ``ImproperlyConfigured`` where two have one id, which would lose one of them.
    """
    pairs = [
        (key_id, key) if colon else ("1", value)
        for value in values
        for key_id, colon, key in [value.partition(":")]
    ]
    if len(found := dict(pairs)) < len(pairs):
        raise ImproperlyConfigured(
            "Two keys of PSEUDONYM_KEY have one id: write each as id:key, with an id of its own."
        )
    return found
