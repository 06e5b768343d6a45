"""The environment, read in one place."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parent.parent

env = environ.Env()
env.read_env(BASE_DIR / ".env")

#: A key's id, and a key in which no second colon could be meant to end an id.
_ID_AND_KEY = re.compile(r"[A-Za-z0-9_.-]{1,8}:[^:]+")


def keys_by_id(values: list[str]) -> dict[str, str]:
    """Keys written as ``id:key``, the one for new digests first; one alone may go without, and is "1".

    ``ImproperlyConfigured`` where two have one id, which would lose one of them, and where a colon
    may be the key's own: what stands before it would silently be taken for an id.
    """
    for number, value in enumerate(values, 1):
        if ":" in value and not _ID_AND_KEY.fullmatch(value):
            raise ImproperlyConfigured(
                f"Key {number} of PSEUDONYM_KEY ({len(value)} characters) has a colon, and is no id:key: "
                "write an id of 1 to 8 letters, digits, dots, dashes or underscores, and no colon in the key."
            )
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


def with_ca(url: str, ca_file: str) -> str:
    """The address of a Redis, whose certificate ``ca_file`` has to have signed if it begins with ``rediss://``.

    A ``ssl_ca_certs`` of its own stays; without a ``ca_file`` the system's trust store counts.
    """
    parts = urlsplit(url)
    options = parse_qsl(parts.query, keep_blank_values=True)
    if parts.scheme != "rediss" or not ca_file or "ssl_ca_certs" in dict(options):
        return url
    return parts._replace(query=urlencode([*options, ("ssl_ca_certs", ca_file)])).geturl()
