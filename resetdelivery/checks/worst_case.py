"""The longest values that this project's messages may hold, for the lint of its templates."""

from __future__ import annotations

import uuid
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth import get_user_model
from django.db import models

from notifications.brand import Brand
from notifications.channels import Channel
from notifications.lint import WorstCase
from notifications.rendering import MAX_SEGMENTS
from notifications.sms.typography import Typography
from resetdelivery.conf import Settings
from resetdelivery.directory import DjangoUserDirectory, get_directory
from resetdelivery.links import ResetTokenGenerator, reset_link, utc_now

#: A hundred million accounts.
LARGEST_KEY = 99_999_999
#: For a directory of which only a real account would tell how it makes links.
USUAL_LINK_CHARACTERS = 75


def worst_case(settings: Settings, *, link: str | None = None) -> WorstCase:
    """What the lint is to render with; ``link`` is the longest one, where the project knows it.

    ``ImproperlyConfigured`` or ``NoReverseMatch`` while E007 to E009 have something to say.
    """
    sms = settings.channels.get(Channel.SMS)
    return WorstCase(
        brand=Brand(name=settings.brand, support=settings.support),
        link=link or longest_link(settings),
        host=urlsplit(settings.reset_base_url).hostname or "",
        lifetimes={
            channel: min(settings.max_lifetime, options.max_lifetime)
            for channel, options in settings.channels.items()
        },
        max_segments=sms.max_segments if sms else MAX_SEGMENTS,
        typography=sms.typography if sms else Typography.PLAIN,
    )


def longest_link(settings: Settings) -> str:
    """A link as long as any, made without a database; its token is of no account."""
    if not isinstance(get_directory(), DjangoUserDirectory):
        base = settings.reset_base_url.rstrip("/") + "/"
        return base.ljust(USUAL_LINK_CHARACTERS, "x")
    model: Any = get_user_model()
    user = model(pk=_longest_key())
    expires_at = (utc_now() + settings.min_useful).replace(microsecond=0)
    return reset_link(user, expires_at, generator=ResetTokenGenerator())


def _longest_key() -> object:
    """A value of the user model's key that makes the link longest."""
    field = get_user_model()._meta.pk
    while isinstance(field, models.ForeignKey):
        field = field.target_field
    if isinstance(field, models.UUIDField):
        return uuid.UUID(int=2**128 - 1)
    if isinstance(field, models.IntegerField):
        return LARGEST_KEY
    return "9" * (getattr(field, "max_length", None) or len(str(uuid.UUID(int=0))))
