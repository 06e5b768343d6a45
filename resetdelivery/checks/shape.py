"""The settings themselves: names and types."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, register

from resetdelivery.checks.messages import TAG, error
from resetdelivery.conf import SettingsInvalid, get_settings
from resetdelivery.provider_settings import ProviderProblem


@register(TAG)
def check_settings(**_: Any) -> list[CheckMessage]:
    """E001."""
    try:
        get_settings()
    except SettingsInvalid as invalid:
        # Those of a list of providers have numbers of their own.
        return [error(1, p) for p in invalid.problems if not isinstance(p, ProviderProblem)]
    return []
