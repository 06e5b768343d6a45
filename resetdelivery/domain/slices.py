"""Which accounts go first when a channel goes live for a few of them. Pure."""

from __future__ import annotations

from resetdelivery.domain.idempotency import PseudonymKey, keyed_digest
from resetdelivery.domain.rollout import EVERYBODY


def slice_of(secret: bytes, account_ref: str) -> int:
    """The account's number, 0 to 999: the same for every channel, and for as long as ``secret`` is.

    HMAC-SHA-256 (RFC 2104) for this purpose alone, so that nobody without the key can choose an
    account that goes first, and numbers say nothing about what other digests are made of.
    """
    digest = keyed_digest(PseudonymKey(id="", secret=secret), "rollout slice", account_ref)
    return int(digest.value, 16) % EVERYBODY


def in_slice(number: int, per_mille: int) -> bool:
    """Whether a slice of ``per_mille`` holds the number; a larger slice holds all of a smaller one."""
    return number < per_mille
