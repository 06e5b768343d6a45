"""Ordered lists of providers, and whether they outlast an outage."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, register
from django.core.exceptions import ImproperlyConfigured

from notifications.channels import Channel
from notifications.email.dkim_problems import DkimMisconfigured
from notifications.option_problems import OptionMisconfigured
from resetdelivery.checks.messages import TAG, error, warning
from resetdelivery.conf import ChannelSettings, SettingsInvalid, get_settings
from resetdelivery.provider_settings import ProviderFault, ProviderProblem
from resetdelivery.transports import get_providers


@register(TAG)
def check_providers(**_: Any) -> list[CheckMessage]:
    """E055 to E057 while the list itself is wrong, E058 and W059 once it is not."""
    try:
        settings = get_settings()
    except SettingsInvalid as invalid:
        return [_message(p) for p in invalid.problems if isinstance(p, ProviderProblem)]
    found: list[CheckMessage] = []
    for channel, options in settings.channels.items():
        found += _unmade(channel, options) + _outlasted(channel, options)
    return found


def _message(problem: ProviderProblem) -> CheckMessage:
    match problem.fault:
        case ProviderFault.EMPTY:
            return error(55, str(problem), problem.hint)
        case ProviderFault.NAMED_TWICE:
            return error(56, str(problem), problem.hint)
        case ProviderFault.ENTRY:
            return error(57, str(problem), problem.hint)


def _unmade(channel: Channel, options: ChannelSettings) -> list[CheckMessage]:
    if not options.providers:
        return []
    where = f"RESETDELIVERY['CHANNELS'][{channel.value!r}]['PROVIDERS']"
    try:
        get_providers(channel)
    except (DkimMisconfigured, OptionMisconfigured):
        # E020 to E024 and E040 to E045 say more.
        return []
    except ImproperlyConfigured as cause:
        return [error(58, str(cause), f"Compare the entry in {where} with its transport's options.")]
    except Exception as cause:
        # It is not meant for people, and may quote a secret.
        text = f"A provider of {where} cannot be made: {type(cause).__name__}."
        return [error(58, text, "Compare its entry with its transport's options.")]
    return []


def _outlasted(channel: Channel, options: ChannelSettings) -> list[CheckMessage]:
    counted = (options.outage_threshold - 1) * max(len(options.providers), 1)
    if counted < options.max_attempts:
        return []
    where = f"RESETDELIVERY['CHANNELS'][{channel.value!r}]"
    text = (
        f"An outage of every provider on {channel.value!r} may take {counted} attempts of a reset, "
        f"and {where}['MAX_ATTEMPTS'] is {options.max_attempts}."
    )
    return [warning(59, text, f"Raise it to {counted + 1} or more, or lower {where}['OUTAGE_THRESHOLD'].")]
