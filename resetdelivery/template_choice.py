"""Which template version and locale an intent may be pinned to."""

from __future__ import annotations

import functools
import re

from django.template import TemplateDoesNotExist
from django.template.loader import get_template

from resetdelivery.exceptions import InvalidOption

# RFC 5646 in the forms that Django uses: "en", "pt-BR", "zh-Hans".
_LOCALE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8}){0,2}")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,15}")


def checked_locale(locale: object) -> str | None:
    """A locale's name, or ``None`` for the account's own; one without templates falls back later."""
    if locale is None:
        return None
    if not isinstance(locale, str) or len(locale) > 16 or not _LOCALE.fullmatch(locale):
        raise InvalidOption("locale must be a language tag such as 'en' or 'pt-BR'.")
    return locale


def checked_template_version(version: object) -> str | None:
    """A version that there are templates of, or ``None`` for the configured one."""
    if version is None:
        return None
    if not isinstance(version, str) or not _VERSION.fullmatch(version) or not has_templates(version):
        raise InvalidOption("template_version must name a folder of templates/notifications/reset/.")
    return version


@functools.lru_cache(maxsize=32)
def has_templates(version: str) -> bool:
    """Whether there are templates of ``version`` in the last resort of every locale, English."""
    try:
        get_template(f"notifications/reset/{version}/en/body.txt")
    except TemplateDoesNotExist:
        return False
    return True
