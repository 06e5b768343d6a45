"""Pseudonyms and fingerprints: keyed digests that carry the id of their key. Pure."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class PseudonymKey:
    """One HMAC-SHA-256 key and the short id that is stored beside what it made."""

    id: str
    secret: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """A keyed digest: 64 hex digits and the id of the key that made them."""

    key_id: str
    value: str

    def __str__(self) -> str:
        return f"{self.key_id}:{self.value}"


def keyed_digest(key: PseudonymKey, purpose: str, *parts: str) -> Digest:
    """HMAC-SHA-256 of ``parts`` for one ``purpose``.

    Purposes and parts are length-prefixed, so that no two different inputs look alike.
    """
    message = b"".join(_prefixed(part) for part in (purpose, *parts))
    return Digest(key_id=key.id, value=hmac.new(key.secret, message, hashlib.sha256).hexdigest())


def _prefixed(part: str) -> bytes:
    raw = part.encode()
    return len(raw).to_bytes(4, "big") + raw


def digest_matches(stored: str, keys: Iterable[PseudonymKey], purpose: str, *parts: str) -> bool:
    """Whether ``stored`` (a ``str(Digest)``) was made of ``parts`` by the key it names.

    A digest whose key is no longer configured matches nothing.
    """
    key_id, _, value = stored.partition(":")
    for key in keys:
        if key.id == key_id:
            return hmac.compare_digest(keyed_digest(key, purpose, *parts).value, value)
    return False


def request_text(request: Mapping[str, object]) -> str:
    """A request as one canonical line, for comparing two requests under one idempotency key.

    It is the request as sent: a ``lifetime`` and not the moment computed from it, or no replay
    would ever look the same.
    """
    return json.dumps(request, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)


def lock_number(digest: str) -> int:
    """A signed 64-bit number for a PostgreSQL advisory lock, from a hex digest."""
    return int.from_bytes(bytes.fromhex(digest)[:8], "big", signed=True)
