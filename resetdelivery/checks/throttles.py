"""The limits in Redis: their server, the proxies that are believed, what may be spent."""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import redis
from django.conf import settings as django_settings
from django.core.checks import CheckMessage, register
from redis.connection import parse_url

from notifications.channels import Channel
from notifications.hosts import is_loopback
from resetdelivery.checks.messages import TAG, error, settings_if_valid, warning
from resetdelivery.conf import Settings
from resetdelivery.throttles.callers import UNIX

#: A page must not wait longer than this for a limit that it can do without.
LONGEST_TIMEOUT = dt.timedelta(seconds=2)

_URL = "RESETDELIVERY['LIMITS_REDIS_URL']"
_PROXIES = "RESETDELIVERY['TRUSTED_PROXIES']"
#: Options of an address that take the verification of ``rediss://`` away, and what they say then.
_UNVERIFIED = {
    "ssl_cert_reqs": {"none", "optional", "cert_none", "cert_optional", "0", "1"},
    "ssl_check_hostname": {"false", "no", "0", "f", "n"},
}


@register(TAG)
def check_limits_server(**_: Any) -> list[CheckMessage]:
    """E084 to E088."""
    settings = settings_if_valid()
    if settings is None:
        return []
    return [*_server_problems(settings), *_proxy_problems(settings)]


@register(TAG, deploy=True)
def check_limits_in_use(**_: Any) -> list[CheckMessage]:
    """W071 and W084 to W086."""
    settings = settings_if_valid()
    return [] if settings is None else [*_unlimited(settings), *_exposed(settings)]


def _server_problems(settings: Settings) -> Iterator[CheckMessage]:
    url = settings.limits_redis_url
    if not url:
        return
    if not _can_be_used(url):
        # Without the value: it may hold a password.
        text = f"{_URL} is no address of a Redis ({len(url)} characters)."
        hint = "Write it as redis://, rediss:// or unix://, such as 'redis://127.0.0.1:6379/1'."
        yield error(84, text, hint)
    elif option := _unverified_option(url):
        text = f"{_URL} has the option {option!r}: anybody could answer in the name of that Redis."
        yield error(85, text, f"Take {option!r} out; name a private CA with 'ssl_ca_certs'.")
    if not dt.timedelta(0) < settings.limits_timeout <= LONGEST_TIMEOUT:
        text = f"RESETDELIVERY['LIMITS_TIMEOUT'] is {settings.limits_timeout}: a page would wait that long."
        yield error(87, text, f"Set it to more than nothing and {LONGEST_TIMEOUT} at most.")
    if not settings.limits_pause:
        text = "RESETDELIVERY['LIMITS_PAUSE'] is nothing: while Redis is away, workers would only ask again."
        yield error(88, text, "Set it to a few seconds.")


def _can_be_used(url: str) -> bool:
    try:
        redis.ConnectionPool.from_url(url)
    except ValueError:
        return False
    return True


def _unverified_option(url: str) -> str:
    options = parse_qsl(urlsplit(url).query)
    return next((name for name, value in options if value.lower() in _UNVERIFIED.get(name, ())), "")


def _proxy_problems(settings: Settings) -> Iterator[CheckMessage]:
    for proxy in settings.trusted_proxies:
        if proxy != UNIX and not _is_network(proxy):
            hint = f"Use addresses and networks such as '10.0.0.0/8', or {UNIX!r} for a Unix socket."
            yield error(86, f"{_PROXIES} has {proxy!r}, which is no network.", hint)


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return True


def _unlimited(settings: Settings) -> Iterator[CheckMessage]:
    if not settings.limits_redis_url:
        text = f"{_URL} is empty: callers, ranges of phone numbers and spending on SMS have no limit."
        yield warning(84, text, "Give the limits a Redis of their own, or a database number of one.")
        return
    budgets = (settings.sms_segments_per_hour, settings.sms_segments_per_day)
    if Channel.SMS in settings.channels and budgets == (None, None):
        text = "RESETDELIVERY has no SMS_SEGMENTS_PER_HOUR and no SMS_SEGMENTS_PER_DAY."
        yield warning(85, text, "Set what you would pay for on your busiest hour and day, and no more.")
    if (sign := _sign_of_a_proxy()) and not settings.trusted_proxies:
        text = f"{sign} says that there is a proxy, and {_PROXIES} names none."
        hint = (
            "Name its network, or all callers together have one caller's limit; silence this where browsers "
            "reach this server itself."
        )
        yield warning(86, text, hint)


def _sign_of_a_proxy() -> str:
    """The setting that only makes sense, or nearly so, where TLS ends before this server."""
    names = ("SECURE_PROXY_SSL_HEADER", "SECURE_SSL_REDIRECT")
    return next((name for name in names if getattr(django_settings, name, None)), "")


def _exposed(settings: Settings) -> Iterator[CheckMessage]:
    url = settings.limits_redis_url
    if (
        url.startswith("redis://")
        and _can_be_used(url)
        and not is_loopback(parse_url(url).get("host", "localhost"))
    ):
        text = f"{_URL} leads to another machine, and the connection is not encrypted."
        yield warning(71, text, "Use rediss://, or a Redis on this machine.")
