"""Versioned, localised templates, rendered to messages.

Rendering Django templates for each message costs more than everything else about it, so a
skeleton is rendered once per (version, locale, brand), with marks in place of the link and the
lifetime, which are then put in. That is safe because the link must match :data:`LINK` and the
lifetime is our own words: neither can hold a line break, a quote or an angle bracket.
"""

from __future__ import annotations

import datetime as dt
import functools
import re
from dataclasses import dataclass

from django.template import TemplateDoesNotExist
from django.template.loader import get_template

from notifications.durations import duration_words
from notifications.exceptions import InvalidMessage
from notifications.message import EmailMessage, ResetContent, SmsMessage
from notifications.outcome import Reason

DEFAULT_LOCALE = "en"
#: Absolute, printable ASCII, and nothing that HTML, a header or a mail client would read as its own:
#: a subset of RFC 3986 without ``&``, quotes and angle brackets.
LINK = re.compile(r"https?://[A-Za-z0-9._~:\[\]-]+(?:/[A-Za-z0-9._~:/?#@!$()*+,;=%-]*)?\Z", re.ASCII)
MAX_LINK_CHARACTERS = 900

_LINK_MARK = "reset-link-goes-here"
_LIFETIME_MARK = "lifetime-goes-here"
_NAME = re.compile(r"[A-Za-z0-9]+(?:[.-][A-Za-z0-9]+)*\Z", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Brand:
    """Who the message is from, in words, and where to ask for help (an address or a URL)."""

    name: str
    support: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _EmailSkeleton:
    locale: str
    subject: str
    text: str
    html: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _SmsSkeleton:
    locale: str
    text: str


def render_email(
    *,
    to: str,
    content: ResetContent,
    version: str,
    locale: str,
    brand: Brand,
    message_id: str,
    date: dt.datetime,
    boundary: str,
) -> EmailMessage:
    """The email of template ``version`` in ``locale`` or the nearest one there is.

    The same arguments give the same message. Raises :class:`InvalidMessage` for a link, a
    version or a template that cannot be used.
    """
    skeleton = _email_skeleton(version, locale, brand)
    fill = _filler(content, skeleton.locale)
    return EmailMessage(
        to=to,
        subject=skeleton.subject,
        text=fill(skeleton.text),
        html=fill(skeleton.html),
        message_id=message_id,
        date=date,
        boundary=boundary,
        expires_at=content.expires_at,
    )


def render_sms(
    *, to: str, content: ResetContent, version: str, locale: str, brand: Brand, reference: str
) -> SmsMessage:
    """The SMS of template ``version``; as :func:`render_email`."""
    skeleton = _sms_skeleton(version, locale, brand)
    return SmsMessage(
        to=to,
        text=_filler(content, skeleton.locale)(skeleton.text),
        reference=reference,
        expires_at=content.expires_at,
    )


def locale_candidates(locale: str) -> list[str]:
    """``pt-BR`` → ``pt-BR``, ``pt``, then the default: where templates are looked for, in order."""
    tag = locale.replace("_", "-")
    if not _NAME.match(tag):
        return [DEFAULT_LOCALE]
    parts = tag.split("-")
    tags = ["-".join(parts[:length]) for length in range(len(parts), 0, -1)]
    return list(dict.fromkeys([*tags, DEFAULT_LOCALE]))


def _filler(content: ResetContent, locale: str) -> functools.partial[str]:
    if len(content.link) > MAX_LINK_CHARACTERS or not LINK.match(content.link):
        raise InvalidMessage(Reason.INVALID_MESSAGE)
    return functools.partial(
        _fill, link=content.link, lifetime=duration_words(locale).phrase(content.remaining)
    )


def _fill(skeleton: str, *, link: str, lifetime: str) -> str:
    return skeleton.replace(_LIFETIME_MARK, lifetime).replace(_LINK_MARK, link)


@functools.lru_cache(maxsize=64)
def _email_skeleton(version: str, locale: str, brand: Brand) -> _EmailSkeleton:
    found, (subject, text, html) = _render(version, locale, brand, ("subject.txt", "body.txt", "body.html"))
    if not subject or "\n" in subject or not _says_when_and_where(text, html):
        raise InvalidMessage(Reason.INVALID_MESSAGE)
    return _EmailSkeleton(locale=found, subject=subject, text=text + "\n", html=html + "\n")


@functools.lru_cache(maxsize=64)
def _sms_skeleton(version: str, locale: str, brand: Brand) -> _SmsSkeleton:
    found, (text,) = _render(version, locale, brand, ("sms.txt",))
    if not _says_when_and_where(text):
        raise InvalidMessage(Reason.INVALID_MESSAGE)
    return _SmsSkeleton(locale=found, text=text)


def _says_when_and_where(*texts: str) -> bool:
    return all(_LINK_MARK in text and _LIFETIME_MARK in text for text in texts)


def _render(version: str, locale: str, brand: Brand, files: tuple[str, ...]) -> tuple[str, list[str]]:
    """Every file from the first locale that has them all: a message speaks one language."""
    if not _NAME.match(version):
        raise InvalidMessage(Reason.INVALID_MESSAGE)
    context = {"link": _LINK_MARK, "lifetime": _LIFETIME_MARK, "brand": brand}
    for candidate in locale_candidates(locale):
        folder = f"notifications/reset/{version}/{candidate}"
        try:
            templates = [get_template(f"{folder}/{file}") for file in files]
        except TemplateDoesNotExist:
            continue
        return candidate, [_clean(template.render(context)) for template in templates]
    raise InvalidMessage(Reason.INVALID_MESSAGE)


def _clean(rendered: str) -> str:
    # A lone CR breaks DKIM's line canonicalisation, and a template edited on Windows has them.
    return rendered.replace("\r\n", "\n").replace("\r", "\n").strip()
