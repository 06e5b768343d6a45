"""The configured readers of receipts, made once per process, and the addresses providers call.

``RESETDELIVERY["RECEIPTS"]`` names each provider with its receiver's options; ``"receiver"`` among
them is the dotted path of a receiver of one's own. ``RESETDELIVERY["RECEIPTS_BASE_URL"]`` is where
``resetdelivery.urls_receipts`` is mounted, as the world sees it: signatures are checked against it
and not against what a request says of itself.
"""

from __future__ import annotations

import functools
import inspect
import re
import uuid
from collections.abc import Callable, Mapping
from typing import Any, cast
from urllib.parse import urlsplit

from django.core.signals import setting_changed
from django.utils.module_loading import import_string

from notifications.hosts import is_loopback
from notifications.receipts.anymail import AnymailReceiver
from notifications.receipts.callback import Receiver
from notifications.receipts.problems import ReceiverMisconfigured, ReceiverProblem
from resetdelivery.conf import get_settings
from resetdelivery.setting_values import listed

_NOT_IN_BASE = re.compile(r"[?#\s\x00-\x1f\\]")

#: Not called over HTTP by the provider itself, but by anymail's signal.
ANYMAIL = "anymail"

#: Receivers by the names that our transports have, and SNS, which carries AWS's events.
KNOWN: Mapping[str, str] = {
    "sns": "notifications.receipts.sns.SnsReceiver",
    "twilio": "notifications.receipts.twilio.TwilioReceiver",
    "vonage": "notifications.receipts.vonage.VonageReceiver",
}


def provider_names() -> list[str]:
    """The providers that call us over HTTP, as configured."""
    return [name for name in get_settings().receipts if name != ANYMAIL]


@functools.cache
def get_receiver(name: str) -> Receiver:
    """The receiver of a configured provider. ``KeyError`` or :class:`ReceiverMisconfigured`."""
    options = dict(_options(name))
    path = options.pop("receiver", None) or KNOWN.get(name)
    if path is None:
        hint = f"Known are {listed(sorted([*KNOWN, ANYMAIL]))}; name one of your own with 'receiver'."
        raise ReceiverMisconfigured(ReceiverProblem.PROVIDER, f"There is no provider {name!r}.", hint)
    return cast("Receiver", _made(_imported(path), options))


@functools.cache
def get_anymail_receiver() -> AnymailReceiver:
    """The receiver of anymail's events. ``KeyError`` or :class:`ReceiverMisconfigured`."""
    return cast("AnymailReceiver", _made(AnymailReceiver, _options(ANYMAIL)))


def _options(name: str) -> Mapping[str, Any]:
    options = get_settings().receipts[name]
    if isinstance(options, Mapping) and all(isinstance(key, str) for key in options):
        return options
    hint = "Write its options as a dict with strings as keys."
    raise ReceiverMisconfigured(ReceiverProblem.PROVIDER, f"It is a {type(options).__name__}.", hint)


def _imported(path: object) -> Callable[..., object]:
    try:
        return cast("Callable[..., object]", import_string(str(path)))
    except ImportError as error:
        missing = (error.name or "").partition(".")[0]
        if missing == "cryptography":
            hint = "Install it: python -m pip install 'resetdelivery[sns]'"
            what = "It needs cryptography, which is not installed."
            raise ReceiverMisconfigured(ReceiverProblem.PROVIDER, what, hint) from None
        what = f"'receiver' is {path!r}, which cannot be imported."
        hint = "Write the dotted path of a receiver class."
        raise ReceiverMisconfigured(ReceiverProblem.PROVIDER, what, hint) from None


def _made(factory: Callable[..., object], options: Mapping[str, Any]) -> object:
    known = [name for name in inspect.signature(factory).parameters if name != "fetch"]
    if unknown := sorted(set(options) - {*inspect.signature(factory).parameters}):
        what = f"It has no option {unknown[0]!r}."
        raise ReceiverMisconfigured(ReceiverProblem.PROVIDER, what, f"Known are {listed(known)}.")
    return factory(**options)


def callback_address(name: str, attempt: uuid.UUID | None = None) -> str:
    """The public address that a provider calls, without a query."""
    path = f"/{name}/" if attempt is None else f"/{name}/{attempt}/"
    return get_settings().receipts_base_url.rstrip("/") + path


def callback_options(factory: object) -> dict[str, str]:
    """What a transport made by ``factory`` has to be told, so that its provider calls us.

    Empty where no receipts of that provider are configured, or the transport cannot pass it on.
    """
    settings, name = get_settings(), getattr(factory, "name", "")
    wanted = bool(settings.receipts_base_url) and name in settings.receipts
    if not wanted or "status_callback" not in inspect.signature(cast("Any", factory)).parameters:
        return {}
    return {"status_callback": callback_address(name) + "{reference}/"}


def base_url_problem(url: str, *, debug: bool) -> str | None:
    """What is wrong with ``url`` as the start of every callback's address, as a sentence."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return "RESETDELIVERY['RECEIPTS_BASE_URL'] is no address."
    if "@" in parts.netloc or _NOT_IN_BASE.search(url):
        return "RESETDELIVERY['RECEIPTS_BASE_URL'] must be a scheme, a host and a path only."
    if not host or not (parts.scheme == "https" or (parts.scheme == "http" and debug and is_loopback(host))):
        return (
            "RESETDELIVERY['RECEIPTS_BASE_URL'] must begin with 'https://' and a host, but its scheme "
            f"is {parts.scheme!r}."
        )
    return None


def _forget(*, setting: str, **_: object) -> None:
    if setting == "RESETDELIVERY":
        get_receiver.cache_clear()
        get_anymail_receiver.cache_clear()


setting_changed.connect(_forget, dispatch_uid="resetdelivery.receivers")
