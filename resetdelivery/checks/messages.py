"""How a check speaks: numbered, with a hint."""

from __future__ import annotations

from django.core.checks import Error, Warning

from resetdelivery.conf import Settings, SettingsInvalid, get_settings

TAG = "resetdelivery"


def error(number: int, text: str, hint: str | None = None) -> Error:
    """What makes the guarantees void, as ``resetdelivery.E…``."""
    return Error(text, hint=hint, id=f"resetdelivery.E{number:03}")


def warning(number: int, text: str, hint: str) -> Warning:
    """What works, but hardly as meant, as ``resetdelivery.W…``."""
    return Warning(text, hint=hint, id=f"resetdelivery.W{number:03}")


def settings_if_valid() -> Settings | None:
    """The settings, or ``None`` while E001 has something to say about them."""
    try:
        return get_settings()
    except SettingsInvalid:
        return None
