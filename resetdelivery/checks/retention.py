"""How long what is kept: durations that must fit each other."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage, register

from resetdelivery.checks.messages import TAG, error, settings_if_valid, warning
from resetdelivery.conf import Settings

#: Rows of one transaction. More of them hold their locks, or SQLite's one writer, too long.
LARGEST_BATCH = 10_000
#: Less history than this shows no day beside the one before it.
SHORTEST_HISTORY = dt.timedelta(days=1)

_PARTS = (
    ("keep_account_refs", "keep_intents"),
    ("keep_shadows", "keep_intents"),
    ("keep_idempotency_keys", "keep_intents"),
    ("keep_provider_references", "keep_attempts"),
)
_COUNTED = ("keep_attempts", "keep_decoys", "keep_intents")


@register(TAG)
def check_retention(**_: Any) -> list[CheckMessage]:
    """E110 to E114 and W110 to W113."""
    settings = settings_if_valid()
    return [] if settings is None else [*_errors(settings), *_warnings(settings)]


def _errors(settings: Settings) -> Iterator[CheckMessage]:
    for why in _not_over(settings, "keep_attempts", "keep_intents", "the trail goes before the intent"):
        yield error(110, *why)
    for part, whole in _PARTS:
        for why in _not_over(settings, part, whole, "it is part of the other, or leads to it"):
            yield error(111, *why)
    telling = "a repeated request would tell that there is no such account"
    for why in _not_over(settings, "keep_idempotency_keys", "keep_decoys", telling):
        yield error(112, *why)
    if settings.purge_batch > LARGEST_BATCH:
        text = (
            f"RESETDELIVERY['PURGE_BATCH'] is {settings.purge_batch}: others wait while one batch is deleted."
        )
        yield error(113, text, f"Set it to {LARGEST_BATCH} or less; a thousand is fast enough.")
    if settings.keep_minutes < SHORTEST_HISTORY:
        text = f"RESETDELIVERY['KEEP_MINUTES'] is {settings.keep_minutes}, which is hardly any history."
        yield error(114, text, f"Set it to {SHORTEST_HISTORY} or more: minutes hold numbers only.")


def _warnings(settings: Settings) -> Iterator[CheckMessage]:
    twice = "a repeated request becomes a second reset while the first one's link is good"
    for why in _not_over(settings, "max_lifetime", "keep_idempotency_keys", twice):
        yield warning(110, *why)
    lost = "forget_account finds no more what leads to a person at the provider"
    for why in _not_over(settings, "keep_provider_references", "keep_account_refs", lost):
        yield warning(111, *why)
    counted = 2 * settings.rollup_close_after
    for name in _COUNTED:
        kept = getattr(settings, name)
        if kept < counted:
            text = f"RESETDELIVERY['{name.upper()}'] is {kept}: rows stay longer, until they are counted."
            yield warning(112, text, f"Set it to {counted} or more: twice ROLLUP_CLOSE_AFTER.")
    for why in _not_over(settings, "keep_shadows", "keep_account_refs", "it changes nothing"):
        yield warning(113, *why)


def _not_over(settings: Settings, shorter: str, longer: str, why: str) -> Iterator[tuple[str, str]]:
    """What is wrong and what to do, if one duration is longer than the one that it should fit into."""
    one, other = getattr(settings, shorter), getattr(settings, longer)
    if one > other:
        yield (
            f"RESETDELIVERY['{shorter.upper()}'] is {one}, longer than {longer.upper()}, {other}: {why}.",
            f"Set RESETDELIVERY['{longer.upper()}'] to {one} or more, or the other to {other} or less.",
        )
