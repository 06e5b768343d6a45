"""The configured providers of each channel, made once per process."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from django.core.signals import setting_changed
from django.utils.module_loading import import_string

from notifications.channels import Channel
from notifications.exceptions import TransportMisconfigured
from notifications.transport import Transport
from resetdelivery.conf import get_settings
from resetdelivery.receivers import callback_options


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A transport under the name that attempts and circuits know it by."""

    name: str
    transport: Transport

    @classmethod
    def alone(cls, transport: Transport) -> Provider:
        """The one provider of a channel: it goes by its transport's own name."""
        return cls(name=transport.name, transport=transport)


@functools.cache
def get_transport(channel: Channel) -> Transport:
    """The transport that ``channel`` asks first; :class:`TransportMisconfigured` if it cannot be made."""
    if providers := get_providers(channel):
        return providers[0].transport
    options = get_settings().channel(channel)
    return _made(options.transport, options.options, f"RESETDELIVERY['CHANNELS'][{channel.value!r}]")


@functools.cache
def get_providers(channel: Channel) -> tuple[Provider, ...]:
    """What ``PROVIDERS`` of ``channel`` lists, in order; empty where the short form is used.

    :class:`TransportMisconfigured` if one of them cannot be made.
    """
    where = f"RESETDELIVERY['CHANNELS'][{channel.value!r}]['PROVIDERS']"
    listed = get_settings().channel(channel).providers
    return tuple(
        Provider(name=one.name, transport=_made(one.transport, one.options, f"{where}[{number}]"))
        for number, one in enumerate(listed)
    )


def _made(path: str, options: Mapping[str, Any], where: str) -> Transport:
    try:
        factory = cast("Callable[..., Transport]", import_string(path))
    except ImportError:
        raise TransportMisconfigured(
            f"{where}['TRANSPORT'] is {path!r}, which cannot be imported. "
            "Write the dotted path of a transport class."
        ) from None
    try:
        return factory(**{**callback_options(factory), **options})
    except TypeError as error:
        raise TransportMisconfigured(f"{where}['OPTIONS'] does not fit its transport: {error}") from None


def _forget(*, setting: str, **_: object) -> None:
    if setting == "RESETDELIVERY":
        get_transport.cache_clear()
        get_providers.cache_clear()


setting_changed.connect(_forget, dispatch_uid="resetdelivery.transports")
