"""Keys of the callers of the internal HTTP boundary: their text, their digest, their words. Pure.

A key is ``rd_<key id>_<secret>``: 12 characters of base32 (RFC 4648, section 6, in lower case) that
name it and may be shown, and 43 of base64url (section 5, no padding) that are 32 random bytes.
"""

from __future__ import annotations

import base64
import enum
import hashlib
import hmac
import re
from collections.abc import Iterable

from resetdelivery.exceptions import ResetDeliveryError

ENTROPY_BYTES = 40
MAX_ACTIVE_KEYS = 2
#: The in-process service function stores its idempotency keys under this client.
RESERVED_CLIENT = "local"

_ID_BYTES = 8
_KEY_ID = re.compile(r"[a-z2-7]{12}")
_KEY = re.compile(rf"rd_({_KEY_ID.pattern})_([A-Za-z0-9_-]{{43}})")
_CLIENT = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
# No digest has this form, so it matches no secret.
_NO_DIGEST = "-" * 64


class ApiKeyRefused(ResetDeliveryError, ValueError):
    """What was asked about clients and keys cannot be done; nothing was changed."""


class Scope(enum.StrEnum):
    """What a key allows its holder to ask for."""

    INTENTS_CREATE = "intents:create"
    INTENTS_READ = "intents:read"
    WORK_CLAIM = "work:claim"
    HEALTH_READ = "health:read"


def key_text(entropy: bytes) -> str:
    """A new key, made of 40 random bytes: 8 for its id (of which 60 bits serve), 32 for its secret."""
    if len(entropy) != ENTROPY_BYTES:
        raise ValueError(f"A key is made of {ENTROPY_BYTES} random bytes, not of {len(entropy)}.")
    key_id = base64.b32encode(entropy[:_ID_BYTES]).decode("ascii").lower()[:12]
    secret = base64.urlsafe_b64encode(entropy[_ID_BYTES:]).decode("ascii").rstrip("=")
    return f"rd_{key_id}_{secret}"


def parse(text: str) -> tuple[str, str] | None:
    """Key id and secret of a key's text; ``None`` if it has another form, whatever it holds."""
    match = _KEY.fullmatch(text)
    return None if match is None else (match[1], match[2])


def digest(secret: str) -> str:
    """What is stored of a secret: SHA-256 over its ASCII characters, 64 hex digits.

    A slow, salted hash protects what people choose. A secret here is 256 random bits: nobody can
    try them all, however fast, and each request has to be answered.
    """
    return hashlib.sha256(secret.encode("ascii")).hexdigest()


def matches(secret: str, stored: str | None) -> bool:
    """Whether ``stored`` is the secret's digest, by one comparison in constant time.

    ``None``, where there is no row, takes as long as a digest and matches nothing.
    """
    expected = _NO_DIGEST if stored is None else stored
    return hmac.compare_digest(digest(secret).encode("ascii"), expected.encode("ascii"))


def scope_text(scopes: Iterable[Scope]) -> str:
    """Scopes as they are stored: each once, ascending, a space between.

    Raises :class:`ApiKeyRefused` where there is none.
    """
    text = " ".join(sorted(set(scopes)))
    if not text:
        raise ApiKeyRefused(f"A key needs at least one scope of {', '.join(Scope)}.")
    return text


def scopes_of(text: str) -> frozenset[Scope]:
    """Stored scopes; a word that this release does not know allows nothing."""
    words = text.split(" ")
    return frozenset(scope for scope in Scope if scope.value in words)


def checked_client_name(name: str) -> str:
    """The name; :class:`ApiKeyRefused` if no client can have it."""
    if _CLIENT.fullmatch(name) is None:
        raise ApiKeyRefused(
            "A client's name is 1 to 64 of a-z, 0-9, '.', '_' and '-', with a letter or digit first; "
            f"this one ({len(name)} characters) is not. Choose another."
        )
    if name == RESERVED_CLIENT:
        raise ApiKeyRefused(
            f"{RESERVED_CLIENT!r} is what calls within the process are known by: a client of that name "
            "could meet their idempotency keys. Choose another name."
        )
    return name


def checked_key_id(text: str) -> str:
    """The key id; :class:`ApiKeyRefused` for anything else, and for a whole key with its id in the text."""
    if _KEY_ID.fullmatch(text) is not None:
        return text
    parts = parse(text)
    if parts is not None:
        raise ApiKeyRefused(f"That is a whole key. Name it by its id alone, {parts[0]}, and keep the rest.")
    raise ApiKeyRefused(
        f"A key id is the 12 characters after 'rd_'; this ({len(text)} characters) is none. "
        "'manage.py api_key list' shows them."
    )


def too_many_keys(client: str, key_ids: Iterable[str]) -> ApiKeyRefused:
    """The error for a client that has as many active keys as it may have, oldest first."""
    oldest, *others = key_ids
    return ApiKeyRefused(
        f"Client {client!r} has {MAX_ACTIVE_KEYS} active keys already: {' and '.join([oldest, *others])}. "
        f"Revoke one that is not in use any more first: manage.py api_key revoke {oldest}"
    )
