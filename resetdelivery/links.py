"""The link of a reset: what it is made of, until when it works, who may use it.

A link is computed, never stored: the same account state and the same expiry give the same link,
so every retry of a delivery carries the one that its first try carried.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, cast
from urllib.parse import urlsplit

from django.conf import settings as django_settings
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.core.exceptions import ImproperlyConfigured
from django.urls import get_script_prefix, reverse, set_script_prefix
from django.utils import translation
from django.utils.crypto import constant_time_compare
from django.utils.encoding import force_bytes
from django.utils.http import base36_to_int, urlsafe_base64_encode

from resetdelivery.conf import get_settings

if TYPE_CHECKING:
    from django.contrib.auth.base_user import AbstractBaseUser

#: Django counts a token's seconds from here; six base-36 digits last until 2069.
EPOCH = dt.datetime(2001, 1, 1, tzinfo=dt.UTC)

#: How far this machine's clock may be behind the database's, which admitted the expiry.
CLOCK_TOLERANCE = dt.timedelta(minutes=5)

_TOKEN = re.compile(r"[0-9a-z]{1,13}-[0-9a-f]{32}")
_NOT_IN_BASE = re.compile(r"[?#\s\x00-\x1f\\]")
_VISUAL_SEPARATORS = re.compile(r"[\s().\-/]+")


def utc_now() -> dt.datetime:
    """This machine's time, aware, in UTC."""
    return dt.datetime.now(dt.UTC)


def email_identity(address: str) -> str:
    """An address in the form in which two spellings of one mailbox are equal.

    Only the domain ignores case; the local part is the receiving host's (RFC 5321, 2.4).
    """
    local, at, domain = address.strip().rpartition("@")
    return f"{local}{at}{domain.lower()}"


def phone_identity(number: str) -> str:
    """A phone number without the visual separators that people write (RFC 3966, 5.1.1)."""
    return _VISUAL_SEPARATORS.sub("", number)


def may_reset(user: AbstractBaseUser) -> bool:
    """Whether the account is active and signs in by password here, not by single sign-on only."""
    return bool(user.is_active) and user.has_usable_password()


class ResetTokenGenerator(PasswordResetTokenGenerator):
    """Tokens that die exactly at an absolute expiry.

    The token's first part is the expiry itself, in whole seconds since 2001 in UTC, and the MAC
    covers it: neither ``PASSWORD_RESET_TIMEOUT`` nor ``TIME_ZONE`` moves the end of a link.
    ``email_field`` and ``phone_field`` name the user's contact points, which the MAC covers too.
    """

    key_salt = "resetdelivery.links.ResetTokenGenerator"
    algorithm = "sha256"

    def __init__(
        self,
        *,
        email_field: str | None = None,
        phone_field: str | None = None,
        clock: Callable[[], dt.datetime] = utc_now,
    ) -> None:
        super().__init__()
        self._contact_fields = (email_field, phone_field)
        self._clock = clock

    def make_token(self, user: AbstractBaseUser) -> NoReturn:  # noqa: ARG002
        """Refused with ``TypeError``: a token without an expiry of its own is not one of ours."""
        raise TypeError("A reset link needs its expiry: call make_token_until(user, expires_at).")

    def make_token_until(self, user: AbstractBaseUser, expires_at: dt.datetime) -> str:
        """The token of ``user`` that works up to, and not at, ``expires_at``.

        ``ValueError`` for an expiry that is naive, has a fraction of a second (a token holds
        whole ones), or lies further away than ``RESETDELIVERY['MAX_LIFETIME']``.
        """
        return self._signed(user, self._checked_seconds(expires_at), get_settings().signing_keys()[0])

    def check_token(self, user: AbstractBaseUser | None, token: str | None) -> bool:
        """Whether ``token`` is ours, for this state of ``user``, not expired, and may be used."""
        if user is None or not isinstance(token, str) or not _TOKEN.fullmatch(token):
            return False
        seconds = base36_to_int(token.partition("-")[0])
        return self._is_ours(user, token, seconds) and self._is_live(seconds) and may_reset(user)

    def contact_points(self, user: AbstractBaseUser) -> tuple[str, str]:
        """Address and number of ``user`` as the MAC sees them; empty where there is none."""
        email, phone = (str(getattr(user, name) or "") if name else "" for name in self._contact_fields)
        return email_identity(email), phone_identity(phone)

    def _is_ours(self, user: AbstractBaseUser, token: str, seconds: int) -> bool:
        return any(
            constant_time_compare(self._signed(user, seconds, key), token)
            for key in get_settings().signing_keys()
        )

    def _signed(self, user: AbstractBaseUser, seconds: int, key: str) -> str:
        # Private in Django, where a token's time is always now; a contract test pins it.
        return self._make_token_with_timestamp(cast("Any", user), seconds, key)

    def _is_live(self, seconds: int) -> bool:
        return self._now() < EPOCH + dt.timedelta(seconds=seconds)

    def _checked_seconds(self, expires_at: dt.datetime) -> int:
        if expires_at.tzinfo is None:
            raise ValueError("A link's expiry must be aware, not naive: give it a time zone, such as UTC.")
        if expires_at.microsecond:
            raise ValueError(
                f"A link's expiry must be a whole second, but has {expires_at.microsecond} microseconds."
            )
        longest = get_settings().max_lifetime
        lifetime = expires_at - self._now()
        if lifetime > longest + CLOCK_TOLERANCE:
            raise ValueError(
                f"A link's expiry may be {longest} away (RESETDELIVERY['MAX_LIFETIME']), not {lifetime}."
            )
        return (expires_at - EPOCH) // dt.timedelta(seconds=1)

    def _make_hash_value(self, user: AbstractBaseUser, timestamp: int) -> str:
        # Not last_login: a person who remembers the password in between keeps the link that is
        # under way. JSON keeps the parts apart, whatever is in them.
        return json.dumps([str(user.pk), user.password, *self.contact_points(user), timestamp])

    def _now(self) -> dt.datetime:
        return self._clock()


def reset_link(user: AbstractBaseUser, expires_at: dt.datetime, *, generator: ResetTokenGenerator) -> str:
    """The whole address of the page on which ``user`` sets a new password before ``expires_at``.

    It begins with ``RESETDELIVERY['RESET_BASE_URL']``, which has the path under which the project
    is mounted, if it has one; the rest comes from the root URLconf.
    ``ValueError`` as in :meth:`ResetTokenGenerator.make_token_until`, ``ImproperlyConfigured``
    for a base address that :func:`base_url_problem` objects to.
    """
    base_url = get_settings().reset_base_url
    if problem := base_url_problem(base_url, debug=django_settings.DEBUG):
        raise ImproperlyConfigured(problem)
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    token = generator.make_token_until(user, expires_at)
    return base_url.rstrip("/") + _path(get_settings().reset_url_name, uid, token)


def _path(url_name: str, uid: str, token: str) -> str:
    """The page's path, unmoved by a request's script name, URLconf or language."""
    before = get_script_prefix()
    set_script_prefix("/")
    try:
        with translation.override(None):
            return reverse(
                url_name, urlconf=django_settings.ROOT_URLCONF, kwargs={"uidb64": uid, "token": token}
            )
    finally:
        set_script_prefix(before)


def base_url_problem(url: str, *, debug: bool) -> str | None:
    """What is wrong with ``url`` as the start of every link, as a sentence; ``None`` if nothing is.

    The link is a credential (OWASP Forgot Password Cheat Sheet): https, and a host that no
    request can choose. ``http`` is for development: with ``debug``, on a loopback host.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "RESETDELIVERY['RESET_BASE_URL'] is no address; write one such as 'https://shop.example'."
    loopback = host in {"localhost", "127.0.0.1", "::1"}
    safe = parts.scheme == "https" or (parts.scheme == "http" and debug and loopback)
    if not host or not safe:
        return (
            f"RESETDELIVERY['RESET_BASE_URL'] must begin with 'https://' and a host, but its scheme is "
            f"{parts.scheme!r} ('http://' is for DEBUG on a loopback host); write 'https://shop.example'."
        )
    if "@" in parts.netloc or _NOT_IN_BASE.search(url):
        return (
            "RESETDELIVERY['RESET_BASE_URL'] must be a scheme, a host and at most a path: "
            "leave out user names, queries, fragments and white space."
        )
    return None
