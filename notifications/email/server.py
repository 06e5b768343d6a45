"""Which SMTP server to use: options, and the host project's own mail settings where they are silent."""

from __future__ import annotations

import enum
import ssl
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings

from notifications.exceptions import TransportMisconfigured
from notifications.hosts import is_loopback
from notifications.sockets import client_context


class Tls(enum.StrEnum):
    """How the connection is encrypted."""

    STARTTLS = "starttls"
    IMPLICIT = "implicit"
    NONE = "none"


_DEFAULT_PORTS = {Tls.STARTTLS: 587, Tls.IMPLICIT: 465, Tls.NONE: 25}


@dataclass(frozen=True, slots=True, kw_only=True)
class SmtpServer:
    """A server and how to enter it; ``context`` verifies it unless ``tls`` is none."""

    host: str
    port: int
    username: str = field(repr=False)
    password: str = field(repr=False)
    tls: Tls
    context: ssl.SSLContext | None = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _HostMail:
    host: str
    port: int | None
    username: str
    password: str
    tls: str
    cert_file: str
    key_file: str


def smtp_server(
    *,
    host: str | None = None,
    port: int | None = None,
    username: str | None = None,
    password: str | None = None,
    tls: str | None = None,
    ca_file: str = "",
) -> SmtpServer:
    """The server that the options name; what is ``None`` comes from Django's mail settings.

    Those are ``EMAIL_HOST`` and its kin, or the default entry of ``MAILERS`` where a project has
    one (Django 6.1). Port and TLS go together: with ``tls`` given and no port, the port is that
    of the protocol. Raises :class:`TransportMisconfigured`.
    """
    host_mail = _host_mail()
    mode = _tls_mode(host_mail.tls if tls is None else tls)
    default_port = host_mail.port if tls is None else None
    name = host_mail.host if host is None else host
    user = host_mail.username if username is None else username
    if not name:
        raise TransportMisconfigured("The SMTP option 'host' is empty: name the mail server.")
    if user and mode is Tls.NONE and not is_loopback(name):
        raise TransportMisconfigured(
            "The SMTP options would send a password in the clear: 'tls' is 'none' and a username is set. "
            "Set tls to 'starttls' or 'implicit'."
        )
    return SmtpServer(
        host=name,
        port=_port(port or default_port or _DEFAULT_PORTS[mode]),
        username=user,
        password=host_mail.password if password is None else password,
        tls=mode,
        context=None if mode is Tls.NONE else _context(ca_file, host_mail),
    )


def _tls_mode(value: str) -> Tls:
    try:
        return Tls(value)
    except ValueError:
        known = ", ".join(repr(str(mode)) for mode in Tls)
        raise TransportMisconfigured(f"The SMTP option 'tls' is {value!r}: use one of {known}.") from None


def _port(value: int) -> int:
    if not 0 < value < 65536:
        raise TransportMisconfigured(f"The SMTP option 'port' is {value!r}: use 1 to 65535.")
    return value


def _context(ca_file: str, host_mail: _HostMail) -> ssl.SSLContext:
    try:
        return client_context(ca_file, host_mail.cert_file, host_mail.key_file)
    except OSError as error:
        raise TransportMisconfigured(
            f"A certificate file of the SMTP options cannot be used (ca_file is {ca_file!r}): "
            f"{error.strerror or type(error).__name__}. Name readable PEM files."
        ) from None


def _host_mail() -> _HostMail:
    mailers = getattr(settings, "MAILERS", None)
    if mailers is not None:
        return _from_mailers(mailers)
    # Django 6.1 warned about these settings where the project defines them; reading is no news.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return _HostMail(
            host=settings.EMAIL_HOST,
            port=settings.EMAIL_PORT,
            username=settings.EMAIL_HOST_USER or "",
            password=settings.EMAIL_HOST_PASSWORD or "",
            tls=_tls_name(use_tls=settings.EMAIL_USE_TLS, use_ssl=settings.EMAIL_USE_SSL),
            cert_file=settings.EMAIL_SSL_CERTFILE or "",
            key_file=settings.EMAIL_SSL_KEYFILE or "",
        )


def _from_mailers(mailers: Mapping[str, Mapping[str, Any]]) -> _HostMail:
    options: Mapping[str, Any] = mailers.get("default", {}).get("OPTIONS", {})
    return _HostMail(
        host=options.get("host") or "",
        port=options.get("port"),
        username=options.get("username") or "",
        password=options.get("password") or "",
        tls=_tls_name(use_tls=bool(options.get("use_tls")), use_ssl=bool(options.get("use_ssl"))),
        cert_file=options.get("ssl_certfile") or "",
        key_file=options.get("ssl_keyfile") or "",
    )


def _tls_name(*, use_tls: bool, use_ssl: bool) -> str:
    if use_ssl:
        return Tls.IMPLICIT
    return Tls.STARTTLS if use_tls else Tls.NONE
