"""Tokens with which an app signs in as a customer, remembered until they are revoked."""

from __future__ import annotations

import hashlib
import secrets

from django.views.decorators.debug import sensitive_variables

from examples.marketplace.models import AccessToken, User


@sensitive_variables()
def issue(user: User) -> str:
    """A new token of ``user``, shown this once; the table keeps its digest."""
    token = secrets.token_urlsafe(32)
    AccessToken.objects.create(user=user, digest=_digest(token))
    return token


@sensitive_variables()
def owner(token: str) -> User | None:
    """The active customer whose token this is."""
    return User.objects.filter(is_active=True, access_tokens__digest=_digest(token)).first()


def revoke(*, account_ref: str, using: str) -> None:
    """Revoke every token of an account: the hook that ``AFTER_RESET`` names."""
    AccessToken.objects.using(using).filter(user_id=int(account_ref)).delete()


def _digest(token: str) -> str:
    # No slow hash: a token of 256 random bits is not guessed.
    return hashlib.sha256(token.encode()).hexdigest()
