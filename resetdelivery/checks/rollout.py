"""What a rollout's steps ask for: numbers that can be right, and can be seen."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage, register

from resetdelivery.checks.messages import TAG, error, settings_if_valid, warning
from resetdelivery.conf import Settings
from resetdelivery.domain.rollout import EVERYBODY

#: What happened is counted by the minute.
SHORTEST_WINDOW = dt.timedelta(minutes=1)


@register(TAG)
def check_rollout(**_: Any) -> list[CheckMessage]:
    """E119, W117 to W119."""
    settings = settings_if_valid()
    return [] if settings is None else [*_errors(settings), *_warnings(settings)]


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
