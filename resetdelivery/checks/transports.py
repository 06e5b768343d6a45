"""What each provider asks of the options it is used with, and of the lifetimes it is given."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage, register

from notifications.channels import Channel
from notifications.option_problems import OptionMisconfigured, OptionProblem
from notifications.transport import Transport
from resetdelivery.checks.messages import TAG, error, settings_if_valid
from resetdelivery.conf import Settings
from resetdelivery.transports import get_providers, get_transport


@register(TAG)
def check_provider_options(**_: Any) -> list[CheckMessage]:
    """E040 to E046. What else keeps a transport from being made is E010's and E058's."""
    settings = settings_if_valid()
    return [] if settings is None else list(_found(settings))


def _found(settings: Settings) -> Iterator[CheckMessage]:
    for channel in settings.channels:
        try:
            transports = _transports(channel)
        except OptionMisconfigured as cause:
            yield _message(channel, cause)
            continue
        except Exception:  # noqa: S112  # other checks have their say  # nosec B112
            continue
        for transport in transports:
            yield from _too_short(settings, channel, transport)


def _transports(channel: Channel) -> list[Transport]:
    providers = get_providers(channel)
    return [one.transport for one in providers] if providers else [get_transport(channel)]


def _message(channel: Channel, cause: OptionMisconfigured) -> CheckMessage:
    text = f"RESETDELIVERY['CHANNELS'][{channel.value!r}]: {cause.what}"
    match cause.problem:
        case OptionProblem.CREDENTIALS:
            return error(40, text, cause.hint)
        case OptionProblem.REGION:
            return error(41, text, cause.hint)
        case OptionProblem.BACKEND | OptionProblem.PACKAGE:
            return error(42, text, cause.hint)
        case OptionProblem.SENDER:
            return error(43, text, cause.hint)
        case OptionProblem.CALLBACK:
            return error(44, text, cause.hint)
        case OptionProblem.VALUE:
            return error(45, text, cause.hint)


def _too_short(settings: Settings, channel: Channel, transport: Transport) -> Iterator[CheckMessage]:
    least = getattr(transport, "min_lifetime", dt.timedelta(0))
    if settings.min_useful < least:
        text = (
            f"RESETDELIVERY['MIN_USEFUL'] is {settings.min_useful}, and the provider {transport.name!r} of "
            f"{channel.value!r} takes no message that is valid for less than {least}."
        )
        yield error(46, text, f"Raise it to {least} or more: what is left below that is not sent.")
