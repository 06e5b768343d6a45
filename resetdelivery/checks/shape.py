"""The settings themselves: names and types."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, register

from resetdelivery.checks.messages import TAG, error
from resetdelivery.conf import SettingsInvalid, get_settings


@register(TAG)
def check_settings(**_: Any) -> list[CheckMessage]:
    """E001."""
    try:
        get_settings()
    except SettingsInvalid as invalid:
        return [error(1, problem) for problem in invalid.problems]
    return []
