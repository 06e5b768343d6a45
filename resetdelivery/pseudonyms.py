"""The keyed digests that stand for accounts and keys, made with the configured keys."""

from __future__ import annotations

from operator import attrgetter

from resetdelivery.conf import get_settings
from resetdelivery.domain.idempotency import Digest, PseudonymKey, digest_matches, keyed_digest, lock_number


def pseudonym(purpose: str, *parts: str) -> Digest:
    """A digest under the newest key."""
    return keyed_digest(get_settings().digest_keys()[0], purpose, *parts)


def lasting_key() -> PseudonymKey:
    """The key for what must stay as it is while another key comes to the front.

    The one whose id sorts first, wherever it stands: keys are added at the end and move to the
    front later, on one process after the other. One change of keys changes it once.
    """
    return min(get_settings().digest_keys(), key=attrgetter("id"))


def every_pseudonym(purpose: str, *parts: str) -> list[str]:
    """The same under each configured key, for finding what an older key made."""
    return [str(keyed_digest(key, purpose, *parts)) for key in get_settings().digest_keys()]


def is_pseudonym_of(stored: str, purpose: str, *parts: str) -> bool:
    """Whether ``stored`` was made of ``parts``, by whichever configured key it names."""
    return digest_matches(stored, get_settings().digest_keys(), purpose, *parts)


def lock_numbers(purpose: str, *parts: str) -> list[int]:
    """Advisory lock numbers under every configured key, ascending.

    All of them and not the newest one's: while keys rotate, two processes that put different keys
    first must still meet in one lock.
    """
    keys = get_settings().digest_keys()
    return sorted(lock_number(keyed_digest(key, purpose, *parts).value) for key in keys)


def account_digest_parts(ref: str, state: str | None) -> tuple[str, str, str]:
    """Purpose and parts of an account's digest; an account that there is none of has one too."""
    return "account", ref, "" if state is None else state
