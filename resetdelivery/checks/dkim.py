"""Who signs the mail."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, register

from notifications.channels import Channel
from notifications.email.dkim_problems import DkimMisconfigured, DkimProblem
from resetdelivery.checks.messages import TAG, error, settings_if_valid
from resetdelivery.transports import get_transport


@register(TAG)
def check_dkim(**_: Any) -> list[CheckMessage]:
    """E020 to E024. What else keeps the transport from being made is E010's."""
    settings = settings_if_valid()
    if settings is None or Channel.EMAIL not in settings.channels:
        return []
    try:
        get_transport(Channel.EMAIL)
    except DkimMisconfigured as cause:
        return [_message(cause)]
    except Exception:
        return []
    return []


def _message(cause: DkimMisconfigured) -> CheckMessage:
    match cause.problem:
        case DkimProblem.KEY:
            return error(20, cause.what, cause.hint)
        case DkimProblem.ALIGNMENT:
            return error(21, cause.what, cause.hint)
        case DkimProblem.ALGORITHM:
            return error(22, cause.what, cause.hint)
        case DkimProblem.KEY_SIZE:
            return error(23, cause.what, cause.hint)
        case DkimProblem.OPTION:
            return error(24, cause.what, cause.hint)
