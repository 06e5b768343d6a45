"""The existing sender's links, which the reset page accepts beside ours while a cut-over lasts.

``RESETDELIVERY["LEGACY_TOKEN_GENERATOR"]`` names what checks them: a class that is made without
arguments, or an instance, such as ``django.contrib.auth.tokens.default_token_generator``.
"""

from __future__ import annotations

import contextlib
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from django.db import connections, router, transaction
from django.utils.module_loading import import_string
from django.views.decorators.debug import sensitive_variables

from resetdelivery.conf import get_settings
from resetdelivery.links import ResetTokenGenerator, may_reset
from resetdelivery.logs import get_logger

if TYPE_CHECKING:
    from django.contrib.auth.base_user import AbstractBaseUser

log = get_logger("resetdelivery.legacy_links")


class TokenGenerator(Protocol):
    """What the reset page asks about a token."""

    def check_token(self, user: AbstractBaseUser | None, token: str | None, /) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BothSenders:
    """Accepts what ``own`` accepts, and else what the existing sender's generator does."""

    own: TokenGenerator

    @sensitive_variables()
    def check_token(self, user: AbstractBaseUser | None, token: str | None) -> bool:
        """Whether ``token`` is a live one of either sender. Each token lives as long as its sender says."""
        return self.own.check_token(user, token) or _is_legacy(user, token)


def with_legacy_links(own: TokenGenerator) -> TokenGenerator:
    """``own``, and while ``LEGACY_TOKEN_GENERATOR`` is set the existing sender's links as well."""
    return BothSenders(own=own) if get_settings().legacy_token_generator else own


def generator_problem(path: str) -> str:
    """What keeps ``path`` from checking tokens, as the end of a sentence; empty if nothing does."""
    try:
        generator = _made(path)
    except Exception as error:
        return f"cannot be imported or made without arguments ({type(error).__name__})"
    if isinstance(generator, ResetTokenGenerator):
        return "checks our own links, which are accepted anyway"
    check = getattr(generator, "check_token", None)
    if not callable(check):
        return "has no method check_token"
    if inspect.iscoroutinefunction(check):
        return "has an asynchronous check_token, and nothing would wait for it"
    try:
        inspect.signature(check).bind(None, None)
    except (TypeError, ValueError):
        return "has a check_token that does not take a user and a token"
    return ""


@sensitive_variables()
def _is_legacy(user: AbstractBaseUser | None, token: str | None) -> bool:
    """Whether the existing sender's generator says True, of an account that may reset its password.

    What it raises means no. Its text may hold a token or a row, so that its class alone is logged.
    """
    if user is None or token is None or not may_reset(user):
        return False
    try:
        with _undone_alone(router.db_for_write(type(user))):
            # Anything else than True, such as a coroutine that nobody awaits, is no yes.
            return _made(get_settings().legacy_token_generator).check_token(user, token) is True
    except Exception as error:
        log.error("legacy_link_check_failed", error_class=type(error).__name__)
        return False


def _undone_alone(using: str) -> contextlib.AbstractContextManager[object]:
    """So that a statement which fails inside leaves the page's own transaction usable."""
    if connections[using].in_atomic_block:
        return transaction.atomic(using=using)
    return contextlib.nullcontext()


def _made(path: str) -> TokenGenerator:
    found = import_string(path)
    return cast("TokenGenerator", found() if isinstance(found, type) else found)
