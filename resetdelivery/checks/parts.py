"""What settings only name: the directory, the transports, the package of the messages."""

from __future__ import annotations

import importlib.metadata
from typing import Any

from django.apps import apps
from django.contrib.auth import get_user_model
from django.core.checks import CheckMessage, register
from django.core.exceptions import ImproperlyConfigured
from django.db import router

from notifications.email.dkim_problems import DkimMisconfigured
from notifications.option_problems import OptionMisconfigured
from resetdelivery.checks.messages import TAG, error, settings_if_valid, warning
from resetdelivery.directory import DjangoUserDirectory, get_directory
from resetdelivery.models import Delivery
from resetdelivery.transports import get_transport

#: What installs our own `notifications`.
DISTRIBUTION = "resetdelivery"


@register(TAG)
def check_accounts(**_: Any) -> list[CheckMessage]:
    """E009 and W001."""
    if settings_if_valid() is None:
        return []
    try:
        directory = get_directory()
    except Exception as cause:
        return [error(9, _reason(cause, "RESETDELIVERY['DIRECTORY'] cannot be made"))]
    ours = router.db_for_write(Delivery)
    theirs = router.db_for_read(get_user_model()) if isinstance(directory, DjangoUserDirectory) else ours
    if theirs == ours:
        return []
    text = f"Accounts are read from the database {theirs!r}, and resetdelivery's tables are in {ours!r}."
    hint = (
        "It works, but no transaction spans both: a change of an account that reaches "
        f"{theirs!r} late is seen late, and cancels the reset. Silence this check if that is meant."
    )
    return [warning(1, text, hint)]


@register(TAG)
def check_transports(**_: Any) -> list[CheckMessage]:
    """E010."""
    settings = settings_if_valid()
    found: list[CheckMessage] = []
    for channel, options in settings.channels.items() if settings else ():
        if options.providers:
            # E058 says which of them.
            continue
        try:
            get_transport(channel)
        except (DkimMisconfigured, OptionMisconfigured):
            # E020 to E024 and E040 to E045 say more.
            continue
        except Exception as cause:
            where = f"The transport of RESETDELIVERY['CHANNELS'][{channel.value!r}] cannot be made"
            found.append(error(10, _reason(cause, where)))
    return found


def _reason(cause: Exception, what: str) -> str:
    """``what`` and why; an exception that is not meant for people may quote a secret."""
    return str(cause) if isinstance(cause, ImproperlyConfigured) else f"{what}: {type(cause).__name__}."


@register(TAG)
def check_notifications_package(**_: Any) -> list[CheckMessage]:
    """E011. Where the other package hides ours altogether, importing our models fails before this."""
    label = next((app.label for app in apps.get_app_configs() if app.name == "notifications"), None)
    others = sorted(
        set(importlib.metadata.packages_distributions().get("notifications", ())) - {DISTRIBUTION}
    )
    if label in {None, "resetdelivery_notifications"} and not others:
        return []
    text = f"The import name 'notifications' is also used by {', '.join(others) or f'the app {label!r}'}."
    hint = "resetdelivery brings its own package of that name. Remove or rename the other one."
    return [error(11, text, hint)]
