"""Connections that carry links and password hashes: to the mail server and to the database."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings as django_settings
from django.core.checks import CheckMessage, register
from django.db import connections, router
from django.utils.module_loading import import_string

from notifications.channels import Channel
from notifications.email.server import SmtpServer, Tls, smtp_server
from notifications.hosts import is_loopback
from resetdelivery.checks.messages import TAG, error, settings_if_valid, warning
from resetdelivery.conf import ChannelSettings
from resetdelivery.models import Delivery

SMTP = "notifications.email.smtp.SmtpTransport"
DJANGO_SMTP = "django.core.mail.backends.smtp.EmailBackend"

#: libpq's modes that look at the certificate and at its name.
VERIFYING = frozenset({"verify-full"})


@register(TAG, deploy=True)
def check_mail(**_: Any) -> list[CheckMessage]:
    """E066 and W066; what keeps a transport from being made is said elsewhere."""
    settings = settings_if_valid()
    if settings is None or Channel.EMAIL not in settings.channels:
        return []
    found: list[CheckMessage] = []
    for where, options in _smtp_options(settings.channels[Channel.EMAIL]):
        found += _mail_problems(where, options)
    return found


def _smtp_options(channel: ChannelSettings) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The options of each of our SMTP transports, and where they stand."""
    where = "RESETDELIVERY['CHANNELS']['email']"
    if not channel.providers and channel.transport == SMTP:
        yield f"{where}['OPTIONS']", channel.options
    for number, provider in enumerate(channel.providers):
        if provider.transport == SMTP:
            yield f"{where}['PROVIDERS'][{number}]['OPTIONS']", provider.options


def _mail_problems(where: str, options: Mapping[str, Any]) -> Iterator[CheckMessage]:
    server = _server(options)
    if server is not None and server.tls is Tls.NONE and not is_loopback(server.host):
        text = f"{where}: email goes to a server on another machine without TLS, links and all."
        hint = (
            "Set 'tls' to 'starttls' or 'implicit'; where they are missing, EMAIL_USE_TLS or EMAIL_USE_SSL."
        )
        yield error(66, text, hint)
    if options.get("host") is None and not _sends_by_smtp():
        text = f"{where} names no 'host', and the project's own email backend is none of SMTP."
        hint = (
            "What EMAIL_HOST says may never have been used. Name 'host', 'port', 'tls', 'username' and "
            "'password' here, or use notifications.email.anymail.AnymailTransport with that backend."
        )
        yield warning(66, text, hint)


def _server(options: Mapping[str, Any]) -> SmtpServer | None:
    names = ("host", "port", "username", "password", "tls", "ca_file")
    try:
        return smtp_server(**{name: options[name] for name in names if name in options})
    except Exception:
        return None


def _sends_by_smtp() -> bool:
    mailers = getattr(django_settings, "MAILERS", None)
    with warnings.catch_warnings():
        # Django 6.1 warned where the project defines the setting; reading it is no news.
        warnings.simplefilter("ignore")
        path = (
            mailers.get("default", {}).get("BACKEND", DJANGO_SMTP)
            if mailers
            else django_settings.EMAIL_BACKEND
        )
    try:
        return issubclass(import_string(path), import_string(DJANGO_SMTP))
    except (ImportError, TypeError):
        return False


@register(TAG, deploy=True)
def check_database_connection(**_: Any) -> list[CheckMessage]:
    """W068, for the database that the routers give our tables."""
    alias = router.db_for_write(Delivery)
    try:
        database = connections[alias].settings_dict
        vendor = connections[alias].vendor
    except Exception:
        # E002 has its say.
        return []
    options = database.get("OPTIONS") or {}
    host = str(database.get("HOST") or "")
    if vendor != "postgresql" or _is_here(host) or "service" in options:
        return []
    if options.get("sslmode") in VERIFYING:
        return []
    text = f"DATABASES[{alias!r}] is on another machine, whose certificate and name nobody looks at."
    hint = f"Set DATABASES[{alias!r}]['OPTIONS']['sslmode'] = 'verify-full' and 'sslrootcert'."
    return [warning(68, text, hint)]


def _is_here(host: str) -> bool:
    """A Unix socket, or this machine's own address."""
    return not host or host.startswith("/") or is_loopback(host)
