"""Which template version and locale an intent may be pinned to."""

from __future__ import annotations

import functools
import re

from django.template import TemplateDoesNotExist
from django.template.loader import get_template

from notifications.locales import DEFAULT_LOCALE
from notifications.message import MessageKind
from notifications.skeletons import template_name
from resetdelivery.exceptions import InvalidOption

MAX_LOCALE = 16
# RFC 5646 in the forms that Django uses: "en", "pt-BR", "zh-Hans".
_LOCALE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8}){0,2}")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,15}")


def checked_locale(locale: object) -> str | None:
    """A locale's name, or ``None`` for the account's own; one without templates falls back later."""
    if locale is None:
        return None
    if not _is_tag(locale):
        raise InvalidOption("locale must be a language tag such as 'en' or 'pt-BR'.")
    return str(locale)


def own_locale(locale: object) -> str | None:
    """An account's own locale; ``None`` for what is no language tag, for nobody checked what is stored."""
    return str(locale) if _is_tag(locale) else None


def _is_tag(locale: object) -> bool:
    return isinstance(locale, str) and len(locale) <= MAX_LOCALE and bool(_LOCALE.fullmatch(locale))


def checked_template_version(version: object) -> str | None:
    """A version that there are templates of, or ``None`` for the configured one."""
    if version is None:
        return None
    if not isinstance(version, str) or not _VERSION.fullmatch(version) or not has_templates(version):
        raise InvalidOption("template_version must name a folder of templates/notifications/reset/.")
    return version


@functools.lru_cache(maxsize=32)
def has_templates(version: str, kind: MessageKind = MessageKind.RESET) -> bool:
    """Whether there are templates of ``version`` in the last resort of every locale, English."""
    try:
        get_template(template_name(kind, version, DEFAULT_LOCALE, "body.txt"))
    except TemplateDoesNotExist:
        return False
    return True
