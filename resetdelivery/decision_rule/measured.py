"""What the last day or so says of delays: percentiles from counted minutes and from newest rows."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import connections
from django.db.models import DurationField, Exists, ExpressionWrapper, F, Min, OuterRef, Q

from notifications.channels import Channel
from notifications.outcome import OutcomeKind
from resetdelivery.clock import database_now
from resetdelivery.domain.quantiles import quantile
from resetdelivery.domain.states import Authority, DeliveryState, IntentKind
from resetdelivery.domain.telemetry import DURATION_SECONDS, QUEUE_DELAY_SECONDS, summed
from resetdelivery.models import Attempt, Delivery, OutcomeMinute, ResetIntent
from resetdelivery.telemetry.minutes import minute_of
from resetdelivery.telemetry.time_limit import time_limit

#: Of rows that are looked at one by one: the newest ones.
NEWEST = 10_000
#: The share that may expire before an attempt: the one that p99 leaves out, too.
MOST_UNTRIED = 0.01
#: All statements together.
TIME_LIMIT_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentiles:
    """Seconds that 95 and 99 of a hundred did not exceed, and of how many."""

    p95: float
    p99: float
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Untried:
    """Deliveries that expired before an attempt, which no percentile knows, ``of`` those that were due."""

    number: int
    of: int

    @property
    def is_too_many(self) -> bool:
        """Whether it is more than a percentile at 99 leaves out."""
        return self.number > MOST_UNTRIED * self.of


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was measured since ``since``; nothing where there is nothing to measure.

    ``admission`` is of the whole transaction (kept where traces are on). By channel: ``shortest_life``
    the shortest that was asked for, in seconds, ``waited`` how many deliveries had to wait for other
    channels, ``untried`` what expired before an attempt, ``pickup`` from due until the attempt is on record,
    ``claim`` from the claim until then, ``latency`` of the provider's answer where it accepted.
    """

    since: dt.datetime | None = None
    admission: Percentiles | None = None
    shortest_life: Mapping[Channel, float | None] = field(default_factory=dict)
    waited: Mapping[Channel, int] = field(default_factory=dict)
    untried: Mapping[Channel, Untried] = field(default_factory=dict)
    pickup: Mapping[Channel, Percentiles | None] = field(default_factory=dict)
    claim: Mapping[Channel, Percentiles | None] = field(default_factory=dict)
    latency: Mapping[Channel, Percentiles | None] = field(default_factory=dict)


NOTHING = Measured()


def measure(window: dt.timedelta, channels: Sequence[Channel], *, using: str) -> Measured:
    """Percentiles of the last ``window``; ``OperationalError`` if that takes longer than a minute."""
    connection = connections[using]
    with time_limit(connection, TIME_LIMIT_SECONDS):
        since = minute_of(database_now(connection) - window)
        return Measured(
            since=since,
            admission=_admission(since, using),
            shortest_life={c: _shortest_life(c, since, using) for c in channels},
            waited={c: _waited(c, since, using) for c in channels},
            untried={c: _untried(c, since, using) for c in channels},
            pickup={
                c: _counted(c, since, using, "queue_delay_counts", QUEUE_DELAY_SECONDS) for c in channels
            },
            claim={c: _claim(c, since, using) for c in channels},
            latency={
                c: _counted(
                    c, since, using, "duration_counts", DURATION_SECONDS, outcome=OutcomeKind.ACCEPTED
                )
                for c in channels
            },
        )


def _shortest_life(channel: Channel, since: dt.datetime, using: str) -> float | None:
    """In whole seconds, as it was asked for: the expiry was rounded down to one."""
    life = ExpressionWrapper(F("expires_at") - F("created_at"), output_field=DurationField())
    asked = ResetIntent.objects.using(using).filter(
        kind=IntentKind.RESET, created_at__gte=since, deliveries__channel=channel
    )
    shortest: dt.timedelta | None = asked.aggregate(shortest=Min(life))["shortest"]
    return None if shortest is None else float(math.ceil(shortest.total_seconds()))


def _waited(channel: Channel, since: dt.datetime, using: str) -> int:
    deliveries = Delivery.objects.using(using).filter(channel=channel, arm_at__isnull=False)
    return deliveries.filter(intent__created_at__gte=since).count()


def _untried(channel: Channel, since: dt.datetime, using: str) -> Untried:
    """Of our own that ended; one whose turn never came was not due."""
    ended = Delivery.objects.using(using).filter(
        Q(arm_at__isnull=True) | ~Q(arm_reason=""),
        channel=channel,
        authority=Authority.PIPELINE,
        finished_at__gte=since,
    )
    tried = Exists(Attempt.objects.using(using).filter(delivery=OuterRef("pk")))
    number = ended.filter(~tried, state=DeliveryState.EXPIRED).count()
    return Untried(number=number, of=number + ended.filter(tried).count())


def _counted(
    channel: Channel, since: dt.datetime, using: str, column: str, bounds: Sequence[float], **where: Any
) -> Percentiles | None:
    """From the minutes' buckets; what is above the last bound counts as that bound."""
    minutes = OutcomeMinute.objects.using(using).filter(channel=channel, minute__gte=since, **where)
    counts = summed(*minutes.values_list(column, flat=True))
    p95, p99 = (quantile(share, counts, bounds, top=bounds[-1]) for share in (0.95, 0.99))
    if p95 is None or p99 is None:
        return None
    return Percentiles(p95=p95, p99=p99, number=sum(counts))


def _claim(channel: Channel, since: dt.datetime, using: str) -> Percentiles | None:
    newest = (
        Attempt.objects.using(using)
        .filter(delivery__channel=channel, started_at__gte=since, claimed_at__isnull=False)
        .order_by("-started_at")
        .values_list("claimed_at", "started_at")[:NEWEST]
    )
    return _ranked([(started - claimed).total_seconds() for claimed, started in newest if claimed])


def _admission(since: dt.datetime, using: str) -> Percentiles | None:
    newest = (
        ResetIntent.objects.using(using)
        .filter(created_at__gte=since, admission_seconds__isnull=False)
        .order_by("-created_at")
        .values_list("admission_seconds", flat=True)[:NEWEST]
    )
    return _ranked([seconds for seconds in newest if seconds is not None])


def _ranked(values: Sequence[float]) -> Percentiles | None:
    """By nearest rank."""
    if not values:
        return None
    ordered = sorted(max(value, 0.0) for value in values)
    p95, p99 = (ordered[math.ceil(share * len(ordered)) - 1] for share in (0.95, 0.99))
    return Percentiles(p95=p95, p99=p99, number=len(ordered))
