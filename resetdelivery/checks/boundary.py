"""How a committed intent reaches a worker, and what is done when one dies."""

from __future__ import annotations

from typing import Any

from django.conf import settings as django_settings
from django.core.checks import CheckMessage, register

from resetdelivery.checks.messages import TAG, settings_if_valid, warning
from resetdelivery.conf import Dispatch, Recovery


@register(TAG)
def check_boundary(**_: Any) -> list[CheckMessage]:
    """W003 and W004."""
    settings = settings_if_valid()
    found: list[CheckMessage] = []
    if settings and settings.dispatch is Dispatch.INLINE and not django_settings.DEBUG:
        text = "RESETDELIVERY['DISPATCH'] is 'inline': requests wait for providers, and nothing retries."
        found.append(warning(3, text, "Use 'broker' or 'database' in production."))
    if settings and settings.recovery is Recovery.OFF:
        text = "RESETDELIVERY['RECOVERY'] is 'off': what a crashed worker held is lost."
        found.append(warning(4, text, "Set it to 'on'; 'observe' only counts."))
    return found
