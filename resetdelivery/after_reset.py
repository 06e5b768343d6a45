"""What a project does when a password was set by a link: end other sign-ins, tell other systems.

``RESETDELIVERY["AFTER_RESET"]`` names callables, ``hook(*, account_ref: str, using: str) -> None``.
OWASP's Forgot Password Cheat Sheet asks to end sessions after a reset; Django's own die with the
old password, while API tokens and the like are known to the project alone.
"""

from __future__ import annotations

import inspect
from typing import Protocol, cast

from django.utils.module_loading import import_string
from django.views.decorators.debug import sensitive_variables

from resetdelivery.conf import get_settings
from resetdelivery.exceptions import ResetDeliveryError
from resetdelivery.logs import get_logger

log = get_logger("resetdelivery.after_reset")


class Hook(Protocol):
    """Called after the new password is stored, before it is committed.

    ``account_ref`` names the account as the directory does, and ``using`` the database in whose
    transaction it runs. Whatever it raises undoes the reset, the new password included.
    """

    def __call__(self, *, account_ref: str, using: str) -> None: ...


class HookFailed(ResetDeliveryError):
    """A hook after a reset raised; its own text may name an account and is left behind."""


def hook_problem(path: str) -> str:
    """What keeps ``path`` from being called, as the end of a sentence; empty if nothing does."""
    try:
        found = import_string(path)
    except ImportError as error:
        return f"cannot be imported ({type(error).__name__})"
    if not callable(found):
        return f"is a {type(found).__name__}, which cannot be called"
    if inspect.iscoroutinefunction(found):
        return "is asynchronous, and nothing would wait for it"
    try:
        inspect.signature(found).bind(account_ref="", using="")
    except (TypeError, ValueError):
        return "does not take account_ref and using by name"
    return ""


@sensitive_variables()
def run_hooks(*, account_ref: str, using: str) -> None:
    """Call every hook, in the order of the setting; :class:`HookFailed` with the first that raises.

    To be called inside the transaction that stores the new password.
    """
    for path in get_settings().after_reset:
        try:
            hook = cast("Hook", import_string(path))
            hook(account_ref=account_ref, using=using)
        except Exception as error:
            log.error("after_reset_failed", hook=path, error_class=type(error).__name__)
            failure = HookFailed(f"RESETDELIVERY['AFTER_RESET']: {path!r} raised {type(error).__name__}.")
        else:
            continue
        # Out here the new error has no context: nothing leads from it to the old one's text.
        raise failure
