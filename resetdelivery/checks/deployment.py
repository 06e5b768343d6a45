"""Who can reach what: the admin, the internal API, Flower, what a session holds, where an SMS goes."""

from __future__ import annotations

import importlib.util
from typing import Any

from django.conf import settings as django_settings
from django.core.checks import CheckMessage, register
from django.urls import NoReverseMatch, URLPattern, URLResolver, get_resolver, reverse

from notifications.channels import Channel
from resetdelivery.checks.messages import TAG, settings_if_valid, warning
from resetdelivery.conf import Dispatch

#: Where the views of the internal API come from, and how its URLs are told apart, whatever their prefix.
INTERNAL_VIEWS = "resetdelivery.api"
INTERNAL_NAMESPACE = "resetdelivery-api"

SIGNED_COOKIES = "django.contrib.sessions.backends.signed_cookies"


@register(TAG, deploy=True)
def check_pages(**_: Any) -> list[CheckMessage]:
    """W065 and W067."""
    urlconf = getattr(django_settings, "ROOT_URLCONF", None)
    found: list[CheckMessage] = []
    try:
        path = reverse("admin:index", urlconf=urlconf)
    except NoReverseMatch:
        pass
    else:
        text = f"The admin answers at {path!r}, and no check can see who gets that far."
        hint = (
            "Let the proxy, a VPN or a host of its own keep strangers from it, ask for a second factor, "
            "and then silence this warning in SILENCED_SYSTEM_CHECKS."
        )
        found.append(warning(65, text, hint))
    if any(_serves_internal_api(one) for one in get_resolver(urlconf).url_patterns):
        text = "The internal API answers in ROOT_URLCONF, beside the pages that everybody may open."
        hint = "Serve it from a URLconf of its own on a private listener, as config/wsgi_internal.py does."
        found.append(warning(67, text, hint))
    return found


def _serves_internal_api(pattern: URLPattern | URLResolver) -> bool:
    """Whether it is one of the API's own, or leads to one; in any URLconf, under any prefix."""
    if isinstance(pattern, URLPattern):
        module = getattr(pattern.callback, "__module__", "")
        return f"{module}.".startswith(f"{INTERNAL_VIEWS}.")
    return pattern.namespace == INTERNAL_NAMESPACE or any(map(_serves_internal_api, pattern.url_patterns))


@register(TAG, deploy=True)
def check_flower(**_: Any) -> list[CheckMessage]:
    """W069: all that can be seen from here is whether somebody thought of it."""
    settings = settings_if_valid()
    if settings is None or settings.dispatch is not Dispatch.BROKER:
        return []
    if importlib.util.find_spec("flower") is None or getattr(django_settings, "FLOWER_BASIC_AUTH", None):
        return []
    text = "Flower is installed, and the setting FLOWER_BASIC_AUTH says nobody who may open it."
    hint = (
        "Run it behind --basic-auth or --auth, on a private address, and set FLOWER_BASIC_AUTH here too; "
        "or silence this warning where Flower does not run."
    )
    return [warning(69, text, hint)]


@register(TAG, deploy=True)
def check_sessions(**_: Any) -> list[CheckMessage]:
    """W070."""
    if django_settings.SESSION_ENGINE != SIGNED_COOKIES:
        return []
    text = "SESSION_ENGINE keeps sessions in cookies, readable: the reset page keeps the link's token there."
    return [warning(70, text, "Keep sessions in the database or in a cache.")]


@register(TAG, deploy=True)
def check_countries(**_: Any) -> list[CheckMessage]:
    """W064."""
    settings = settings_if_valid()
    options = settings.channels.get(Channel.SMS) if settings else None
    if options is None or options.regions:
        return []
    text = "RESETDELIVERY['CHANNELS']['sms']['REGIONS'] is empty: text messages go to every country."
    hint = "Name the countries of your customers: fraudsters have messages sent to numbers that they earn by."
    return [warning(64, text, hint)]
