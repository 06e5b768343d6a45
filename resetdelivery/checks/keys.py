"""The keys that links and pseudonyms are made with: there, long enough, and for nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings as django_settings
from django.core.checks import CheckMessage, register
from django.utils.encoding import force_bytes
from django.views.decorators.debug import sensitive_variables

from resetdelivery.checks.messages import TAG, error, settings_if_valid, warning
from resetdelivery.conf import Settings

#: As long as the MAC (SHA-256) that the keys go into: RFC 2104, 3.
SHORTEST_OCTETS = 32

_MAKE_ONE = 'Make one with: python -c "import secrets; print(secrets.token_urlsafe(48))".'


@register(TAG, deploy=True)
@sensitive_variables()
def check_keys(**_: Any) -> list[CheckMessage]:
    """E060 to E063 and W060."""
    settings = settings_if_valid()
    return [] if settings is None else [*_missing(settings), *_short(settings), *_shared(settings)]


def _missing(settings: Settings) -> Iterator[CheckMessage]:
    if not settings.link_keys:
        text = "RESETDELIVERY['LINK_KEYS'] is empty: SECRET_KEY signs the links."
        hint = (
            "Set a key of its own, so that a leak of SECRET_KEY is none of every link. "
            f"{_MAKE_ONE} docs/security.md says how to go over to it."
        )
        yield error(60, text, hint)
    if not settings.pseudonym_keys:
        text = "RESETDELIVERY['PSEUDONYM_KEYS'] is empty: changing SECRET_KEY cancels resets under way."
        yield warning(60, text, f"Set {{'1': key}}. {_MAKE_ONE}")


@sensitive_variables()
def _short(settings: Settings) -> Iterator[CheckMessage]:
    hint = f"Keys have {SHORTEST_OCTETS} octets or more. {_MAKE_ONE}"
    for number, key in enumerate(settings.link_keys):
        if (length := len(force_bytes(key))) < SHORTEST_OCTETS:
            yield error(61, f"RESETDELIVERY['LINK_KEYS'][{number}] has {length} octets.", hint)
    for key_id, key in settings.pseudonym_keys.items():
        if (length := len(force_bytes(key))) < SHORTEST_OCTETS:
            yield error(63, f"RESETDELIVERY['PSEUDONYM_KEYS'][{key_id!r}] has {length} octets.", hint)


@sensitive_variables()
def _shared(settings: Settings) -> Iterator[CheckMessage]:
    """Keys that serve for something else, too: whoever learns one learns both."""
    django_keys = [django_settings.SECRET_KEY, *django_settings.SECRET_KEY_FALLBACKS]
    others = set(map(force_bytes, django_keys))
    hint = "Give it a value of its own; it may stay while links or digests made with it are in use."
    for number, key in enumerate(settings.link_keys):
        if force_bytes(key) in others:
            text = f"RESETDELIVERY['LINK_KEYS'][{number}] is SECRET_KEY, or one of its fallbacks."
            yield error(62, text, hint)
    others |= set(map(force_bytes, settings.link_keys))
    for key_id, key in settings.pseudonym_keys.items():
        if force_bytes(key) in others:
            text = f"RESETDELIVERY['PSEUDONYM_KEYS'][{key_id!r}] is also a key for links, or SECRET_KEY."
            yield error(62, text, hint)
