"""What a rollout's steps ask for: numbers that can be right, and can be seen."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from typing import Any

from django.core.checks import CheckMessage, register

from resetdelivery.checks.messages import TAG, error, settings_if_valid, warning
from resetdelivery.conf import Settings
from resetdelivery.domain.rollout import EVERYBODY

#: What happened is counted by the minute.
SHORTEST_WINDOW = dt.timedelta(minutes=1)


@register(TAG)
def check_rollout(**_: Any) -> list[CheckMessage]:
    """E119, W117 to W120."""
    settings = settings_if_valid()
    if settings is None:
        return []
    return [*_errors(settings), *_warnings(settings), *_key_ids(list(settings.pseudonym_keys))]


def _errors(settings: Settings) -> Iterator[CheckMessage]:
    if settings.first_slice > EVERYBODY:
        text = f"RESETDELIVERY['FIRST_SLICE'] is {settings.first_slice} per mille, more than all accounts."
        yield error(119, text, "Set it to a few per mille of the accounts, such as 50.")
    if settings.rollout_window < SHORTEST_WINDOW:
        text = (
            f"RESETDELIVERY['ROLLOUT_WINDOW'] is {settings.rollout_window}: what happened is counted by the "
            "minute."
        )
        yield error(119, text, "Set it to an hour or so: as long as enough resets need.")
    if not settings.rollout_verified_for:
        text = "RESETDELIVERY['ROLLOUT_VERIFIED_FOR'] is nothing: no verification of recovery would count."
        yield error(119, text, "Set it to some days.")


def _warnings(settings: Settings) -> Iterator[CheckMessage]:
    if settings.first_slice == EVERYBODY:
        text = "RESETDELIVERY['FIRST_SLICE'] is 1000 per mille: a channel may go live for everybody at once."
        yield warning(117, text, "Set it to a few per mille of the accounts, such as 50.")
    if settings.rollout_window > settings.keep_minutes:
        text = (
            f"RESETDELIVERY['ROLLOUT_WINDOW'] is {settings.rollout_window}, longer than KEEP_MINUTES, "
            f"{settings.keep_minutes}: what a step asks for is not there any more."
        )
        yield warning(118, text, f"Set ROLLOUT_WINDOW to {settings.keep_minutes} or less.")
    if settings.rollout_verified_for > settings.keep_audit_entries:
        text = (
            f"RESETDELIVERY['ROLLOUT_VERIFIED_FOR'] is {settings.rollout_verified_for}, longer than "
            f"KEEP_AUDIT_ENTRIES, {settings.keep_audit_entries}: the entry that it counts by goes before."
        )
        yield warning(119, text, f"Set ROLLOUT_VERIFIED_FOR to {settings.keep_audit_entries} or less.")


def _key_ids(ids: Sequence[str]) -> Iterator[CheckMessage]:
    if len(ids) > 1 and _newest_sorts_first(ids):
        text = (
            f"RESETDELIVERY['PSEUDONYM_KEYS'] has the ids {', '.join(map(repr, ids))}, and the newest seems "
            "to sort first: slices of a rollout go by that key, so they change."
        )
        hint = "Give a new key an id that sorts after the others', as text: '10' is before '9'."
        yield warning(120, text, hint)


def _newest_sorts_first(ids: Sequence[str]) -> bool:
    """Whether it looks so: by their numbers if all are numbers, else the newest is the one that signs."""
    if all(one.isdecimal() for one in ids):
        return min(ids) != min(ids, key=int)
    return ids[0] == min(ids)
