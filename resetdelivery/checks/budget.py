"""Whether what is measured stays within its budget, with this project's settings."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, Warning, register

from resetdelivery.checks.messages import TAG, settings_if_valid, warning
from resetdelivery.domain.budget import Ceiling
from resetdelivery.telemetry.budget import reckon


@register(TAG, deploy=True)
def check_budget(**_: Any) -> list[CheckMessage]:
    """W105 to W109, from sizes that are reckoned and not from a database's."""
    settings = settings_if_valid()
    if settings is None:
        return []
    return [_over(ceiling) for ceiling in reckon(settings).ceilings if ceiling.is_over]


def _over(ceiling: Ceiling) -> Warning:
    text = f"Telemetry is over its budget: {ceiling.what}, {ceiling.used:,.0f} of {ceiling.most:,.0f}."
    hint = f"Raise RESETDELIVERY[{ceiling.setting!r}], or"
    match ceiling.setting:
        case "MAX_SERIES":
            return warning(105, text, f"{hint} drop a label: see 'manage.py telemetry_budget'.")
        case "MAX_LINE_BYTES":
            return warning(106, text, f"{hint} drop a field: see 'manage.py telemetry_budget'.")
        case "MAX_LOG_BYTES":
            return warning(107, text, f"{hint} lower LOG_RETENTION or LOG_REPLICAS.")
        case "MAX_SPAN_BYTES":
            return warning(108, text, f"{hint} lower SPAN_RETENTION or TRACE_SUCCESSES_PER_MILLE.")
    return warning(109, text, f"{hint} lower KEEP_INTENTS or KEEP_ATTEMPTS.")
