"""The configured transport of each channel, made once per process."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import cast

from django.core.signals import setting_changed
from django.utils.module_loading import import_string

from notifications.channels import Channel
from notifications.exceptions import TransportMisconfigured
from notifications.transport import Transport
from resetdelivery.conf import get_settings


@functools.cache
def get_transport(channel: Channel) -> Transport:
    """The transport of ``channel``; :class:`TransportMisconfigured` if it cannot be made."""
    options = get_settings().channel(channel)
    where = f"RESETDELIVERY['CHANNELS'][{channel.value!r}]"
    try:
        factory = cast("Callable[..., Transport]", import_string(options.transport))
    except ImportError:
        raise TransportMisconfigured(
            f"{where}['TRANSPORT'] is {options.transport!r}, which cannot be imported. "
            "Write the dotted path of a transport class."
        ) from None
    try:
        return factory(**options.options)
    except TypeError as error:
        raise TransportMisconfigured(f"{where}['OPTIONS'] does not fit its transport: {error}") from None


def _forget(*, setting: str, **_: object) -> None:
    if setting == "RESETDELIVERY":
        get_transport.cache_clear()


setting_changed.connect(_forget, dispatch_uid="resetdelivery.transports")
