"""Channels that are ready for a step, and the audit trail that steps leave."""

from __future__ import annotations

import datetime as dt

from django.db import connection

from notifications.channels import Channel
from notifications.outcome import OutcomeKind
from resetdelivery import audit
from resetdelivery.clock import database_now
from resetdelivery.cutover.steps import Changed, change
from resetdelivery.domain.rollout import Position, RolloutAction, verified_target
from resetdelivery.domain.telemetry import QUEUE_DELAY_SECONDS, REMAINING_RATIO, CountedEvent, Job, no_counts
from resetdelivery.models import AuditEntry, ChannelControl, OutcomeMinute
from tests import counted

EMAIL = Channel.EMAIL


def put(mode: str, per_mille: int = 1000, channel: Channel = EMAIL) -> None:
    """The channel stands there, whatever it takes."""
    ChannelControl.objects.update_or_create(
        channel=channel, defaults={"mode": mode, "slice_per_mille": per_mille}
    )


def stands(channel: Channel = EMAIL) -> Position:
    """Where the channel stands, as it is stored."""
    control = ChannelControl.objects.get(channel=channel)
    return Position(control.mode, control.slice_per_mille)


def verified(
    recovery: str, *, channel: Channel = EMAIL, ago: dt.timedelta = dt.timedelta(0), why: str = "5 stranded"
) -> None:
    """``RECOVERY`` was shown to work with that value, so long ago."""
    target = verified_target(channel, recovery)
    audit.record(who="ada", action=RolloutAction.VERIFIED, target=target, why=why)
    if ago:
        newest = AuditEntry.objects.order_by("-pk")[:1].get()
        AuditEntry.objects.filter(pk=newest.pk).update(at=database_now(connection) - ago)


def ready(channel: Channel = EMAIL, shadows: int = 30, accepted: int = 20) -> None:
    """All that steps ask for: fresh counts, enough shadows that were quick, recovery verified twice.

    Of ours so many were accepted, after delays that nobody measured.
    """
    for job in (Job.SWEEP, Job.ROLL_UP):
        counted.succeeded(job)
    counted.events({CountedEvent.SHADOW_FINISHED: shadows}, label="shadowed", channel=channel)
    counted.events({CountedEvent.SHADOW_DELAY: shadows}, label="1", channel=channel)
    _accepted(accepted, channel)
    for recovery in ("observe", "on"):
        verified(recovery, channel=channel)


def _accepted(number: int, channel: Channel) -> None:
    OutcomeMinute.objects.create(
        minute=counted.minute(),
        channel=channel,
        outcome=OutcomeKind.ACCEPTED,
        template_version="0",
        attempts=number,
        queue_delay_counts=no_counts(QUEUE_DELAY_SECONDS),
        remaining_counts=no_counts(REMAINING_RATIO),
    )


def move(mode: str, per_mille: int = 1000, *, why: str = "", override: bool = False) -> Changed:
    """A step of email's."""
    return change(EMAIL, mode=mode, slice_per_mille=per_mille, who="ada", why=why, override=override)


def trail() -> list[tuple[str, str, str, str]]:
    """Who did what with which and why; verifications are left out."""
    entries = AuditEntry.objects.exclude(action=RolloutAction.VERIFIED).order_by("pk")
    return list(entries.values_list("who", "action", "target", "why"))
