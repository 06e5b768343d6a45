"""Minutes as the roll-up leaves them, and jobs as they note their success."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection

from notifications.channels import Channel
from notifications.outcome import OutcomeKind
from resetdelivery.clock import database_now
from resetdelivery.domain.telemetry import (
    QUEUE_DELAY_SECONDS,
    REMAINING_RATIO,
    CountedEvent,
    Job,
    counted,
)
from resetdelivery.models import EventMinute, JobRun, OutcomeMinute


def minute(ago: int = 0) -> dt.datetime:
    """The beginning of the minute as many minutes ago."""
    return database_now(connection).replace(second=0, microsecond=0) - dt.timedelta(minutes=ago)


def attempts(
    outcome: OutcomeKind = OutcomeKind.ACCEPTED,
    delays: Sequence[float] = (1.0,),
    *,
    ago: int = 0,
    left: Sequence[float] = (),
    channel: Channel = Channel.EMAIL,
    **fields: Any,
) -> None:
    """A minute's attempts of one outcome: how long each had been due, and the shares of life left."""
    OutcomeMinute.objects.create(
        **{"minute": minute(ago), "template_version": "1", **fields},
        channel=channel,
        outcome=outcome,
        attempts=len(delays),
        queue_delay_counts=counted(delays, QUEUE_DELAY_SECONDS),
        remaining_counts=counted(left, REMAINING_RATIO),
    )


def events(
    numbers: Mapping[CountedEvent, int],
    *,
    ago: int = 0,
    label: str = "",
    channel: Channel = Channel.EMAIL,
    **fields: Any,
) -> None:
    """A minute's events, each so many times."""
    EventMinute.objects.bulk_create(
        EventMinute(minute=minute(ago), event=event, channel=channel, label=label, count=number, **fields)
        for event, number in numbers.items()
    )


def succeeded(job: Job, seconds_ago: float = 0) -> None:
    """``job`` came to its end so long ago."""
    at = database_now(connection) - dt.timedelta(seconds=seconds_ago)
    JobRun.objects.update_or_create(name=job, defaults={"succeeded_at": at, "took_seconds": 0.01})
