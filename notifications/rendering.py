"""Versioned, localised templates, rendered to messages."""

from __future__ import annotations

import datetime as dt
import functools
import re
from collections.abc import Callable
from dataclasses import dataclass

from django.core.signals import setting_changed
from django.template import TemplateDoesNotExist

from notifications import skeletons
from notifications.brand import Brand
from notifications.durations import duration_words
from notifications.exceptions import InvalidMessage
from notifications.locales import FOLDER_NAME, locale_candidates
from notifications.message import Content, EmailMessage, MessageKind, NoticeContent, SmsMessage
from notifications.outcome import Reason
from notifications.sms.segmentation import InvalidSmsText, count, normalized
from notifications.sms.typography import Typography, plain_if_gsm7

__all__ = ["LINK", "MAX_LINK_CHARACTERS", "MAX_SEGMENTS", "Brand", "render_email", "render_sms"]

#: Absolute, printable ASCII, and nothing that HTML, a header or a mail client would read as its own:
#: a subset of RFC 3986 without ``&``, quotes and angle brackets.
LINK = re.compile(r"https?://[A-Za-z0-9._~:\[\]-]+(?:/[A-Za-z0-9._~:/?#@!$()*+,;=%-]*)?\Z", re.ASCII)
MAX_LINK_CHARACTERS = 900
#: In a script outside the 7-bit alphabet, a link of 75 characters alone takes more than one.
MAX_SEGMENTS = 3


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
    content: Content,
    version: str,
    locale: str,
    brand: Brand,
    message_id: str,
    date: dt.datetime,
    boundary: str,
    reference: str = "",
) -> EmailMessage:
    """The email of template ``version`` in ``locale`` or the nearest one there is.

    The same arguments give the same message. Raises :class:`InvalidMessage` for a link, a
    version or a template that cannot be used.
    """
    skeleton = _email_skeleton(content.kind, version, locale, brand)
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
        reference=reference,
    )


def render_sms(
    *,
    to: str,
    content: Content,
    version: str,
    locale: str,
    brand: Brand,
    reference: str,
    key: str = "",
    max_segments: int = MAX_SEGMENTS,
    typography: Typography = Typography.PLAIN,
) -> SmsMessage:
    """The SMS of template ``version``; as :func:`render_email`.

    Also :class:`InvalidMessage` for a text of more than ``max_segments`` segments, and for one
    with a character that no SMS may carry.
    """
    skeleton = _sms_skeleton(content.kind, version, locale, brand)
    text = _sms_text(_filler(content, skeleton.locale)(skeleton.text), typography)
    segments = count(text).segments
    if segments > max_segments:
        raise InvalidMessage(Reason.INVALID_MESSAGE)
    return SmsMessage(
        to=to,
        text=text,
        segments=segments,
        reference=reference,
        key=key,
        expires_at=content.expires_at,
    )


def _sms_text(written: str, typography: Typography) -> str:
    try:
        text = normalized(written)
    except InvalidSmsText:
        raise InvalidMessage(Reason.INVALID_MESSAGE) from None
    return plain_if_gsm7(text) if typography is Typography.PLAIN else text


def _filler(content: Content, locale: str) -> Callable[[str], str]:
    if isinstance(content, NoticeContent):
        return str
    if len(content.link) > MAX_LINK_CHARACTERS or not LINK.match(content.link):
        raise InvalidMessage(Reason.INVALID_MESSAGE)
    return functools.partial(
        skeletons.fill, link=content.link, lifetime=duration_words(locale).phrase(content.remaining)
    )


@functools.lru_cache(maxsize=64)
def _email_skeleton(kind: MessageKind, version: str, locale: str, brand: Brand) -> _EmailSkeleton:
    found, (subject, text, html) = _render(kind, version, locale, brand, skeletons.EMAIL_FILES)
    if not subject or "\n" in subject or not skeletons.has_its_places(kind, text, html):
        raise InvalidMessage(Reason.INVALID_MESSAGE)
    return _EmailSkeleton(locale=found, subject=subject, text=text + "\n", html=html + "\n")


@functools.lru_cache(maxsize=64)
def _sms_skeleton(kind: MessageKind, version: str, locale: str, brand: Brand) -> _SmsSkeleton:
    found, (text,) = _render(kind, version, locale, brand, skeletons.SMS_FILES)
    if not skeletons.has_its_places(kind, text):
        raise InvalidMessage(Reason.INVALID_MESSAGE)
    return _SmsSkeleton(locale=found, text=text)


def _render(
    kind: MessageKind, version: str, locale: str, brand: Brand, files: tuple[str, ...]
) -> tuple[str, list[str]]:
    """Every file from the first locale that has them all: a message speaks one language."""
    if not FOLDER_NAME.match(version):
        raise InvalidMessage(Reason.INVALID_MESSAGE)
    for candidate in locale_candidates(locale):
        names = [skeletons.template_name(kind, version, candidate, file) for file in files]
        try:
            return candidate, [skeletons.skeleton(name, candidate, brand) for name in names]
        except TemplateDoesNotExist:
            continue
    raise InvalidMessage(Reason.INVALID_MESSAGE)


def _forget(*, setting: str, **_: object) -> None:
    if setting in {"TEMPLATES", "INSTALLED_APPS"}:
        _email_skeleton.cache_clear()
        _sms_skeleton.cache_clear()


setting_changed.connect(_forget, dispatch_uid="notifications.rendering")
