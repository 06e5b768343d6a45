"""Who asks, by the address a request comes from, and how often that address may."""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import ipaddress

from django.http import HttpRequest
from django.views.decorators.debug import sensitive_variables

from resetdelivery.conf import Settings, get_settings
from resetdelivery.domain.gcra import Rate
from resetdelivery.throttles.meters import take

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

#: An IPv6 subscriber has at least a whole /64 (RFC 6177) and would never be the same address twice.
IPV6_PREFIX = 64
#: In ``TRUSTED_PROXIES``: a proxy that comes over a Unix socket, where REMOTE_ADDR is empty.
UNIX = "unix"


@sensitive_variables()
def wait_seconds(request: HttpRequest, *, purpose: str) -> float:
    """0.0 if whoever sent ``request`` may go on, else the seconds that they have to wait.

    Each ``purpose`` has a meter of its own: ``confirm`` for ``CONFIRM_PER_10_MINUTES``, any other
    for ``CALLER_PER_10_MINUTES``. Open while Redis is away, and for a caller of unknown address.
    """
    settings = get_settings()
    if not settings.limits_redis_url:
        return 0.0
    network = caller_network(
        str(request.META.get("REMOTE_ADDR") or ""),
        str(request.META.get("HTTP_X_FORWARDED_FOR") or ""),
        settings.trusted_proxies,
    )
    return take(purpose, network, rate=_rate(settings, purpose)) if network else 0.0


def _rate(settings: Settings, purpose: str) -> Rate:
    own = settings.confirm_per_10_minutes if purpose == "confirm" else settings.caller_per_10_minutes
    return Rate(limit=own, period=dt.timedelta(minutes=10))


@sensitive_variables()
def caller_network(remote: str, forwarded_for: str, proxies: tuple[str, ...]) -> str:
    """The caller's IPv4 address or IPv6 /64; empty where there is none.

    ``X-Forwarded-For`` counts only where ``remote`` is one of the ``proxies``, and then from its
    right end, which our own proxies wrote: the first entry that is no proxy of ours is the caller.
    Whatever stands left of it the caller may have written. Where that finds no address, it is
    ``remote``.
    """
    nearest = parsed_address(remote)
    trusted = UNIX in proxies if nearest is None and not remote else _is_among(nearest, proxies)
    found = _forwarded(forwarded_for, proxies) if trusted else None
    address = found or nearest
    return "" if address is None else _network(address)


def _forwarded(forwarded_for: str, proxies: tuple[str, ...]) -> Address | None:
    for entry in reversed(forwarded_for.split(",")):
        address = parsed_address(entry)
        if address is None or not _is_among(address, proxies):
            return address
    return None


def parsed_address(text: str) -> Address | None:
    """An address as proxies write it: perhaps with a port, brackets or a zone; ``None`` for others.

    An IPv4 address inside an IPv6 one (RFC 4291, 2.5.5.2) is the IPv4 address.
    """
    bare = text.strip().strip('"')
    if bare.startswith("["):
        inner, closed, _ = bare[1:].partition("]")
        bare = inner if closed else ""
    elif bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        address = ipaddress.ip_address(bare.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _is_among(address: Address | None, proxies: tuple[str, ...]) -> bool:
    return address is not None and any(address in network for network in _networks(proxies))


@functools.lru_cache(maxsize=1)
def _networks(proxies: tuple[str, ...]) -> tuple[Network, ...]:
    """Without what is no network: E086 names it, and no page breaks for it."""
    found = []
    for proxy in proxies:
        with contextlib.suppress(ValueError):
            found.append(ipaddress.ip_network(proxy, strict=False))
    return tuple(found)


def _network(address: Address) -> str:
    if address.version == 4:
        return str(address)
    return str(ipaddress.ip_network((int(address), IPV6_PREFIX), strict=False))
