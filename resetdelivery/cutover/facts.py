"""What there is to see of every channel before a step: its control, its window, its recovery."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import Error, connections
from django.db.models import Max, Min, Q, Sum

from notifications.channels import Channel
from notifications.outcome import OutcomeKind
from resetdelivery.clock import database_now
from resetdelivery.conf import Recovery, Settings, get_settings
from resetdelivery.decision_rule.terms import life_of
from resetdelivery.domain.health import FAILING, HealthReason
from resetdelivery.domain.quantiles import quantile
from resetdelivery.domain.reasons import CancelReason, DeliveryReason, SuppressReason
from resetdelivery.domain.rollout import (
    EVERYBODY,
    SWEPT_HERE,
    ChannelMode,
    Facts,
    Position,
    RolloutAction,
    Rules,
    verified_target,
)
from resetdelivery.domain.telemetry import (
    QUEUE_DELAY_SECONDS,
    CountedEvent,
    Ending,
    bucket_of,
    no_counts,
    summed,
)
from resetdelivery.exceptions import ResetDeliveryError
from resetdelivery.models import AuditEntry, ChannelControl, EventMinute
from resetdelivery.telemetry.health import ChannelHealth, DeliveryHealth, delivery_health
from resetdelivery.telemetry.health_rows import read_ended
from resetdelivery.telemetry.time_limit import time_limit


class NothingSeen(ResetDeliveryError):
    """The numbers that a step forward asks for cannot be read."""


#: Reasons of health that stand against trusting us with more; pauses are looked at apart.
AGAINST = (FAILING | {HealthReason.FEW_ACCEPTED, HealthReason.EXPIRING}) - {HealthReason.PAUSED_MISCONFIGURED}

#: Why shadows ended as nobody should have got anything: those stand against no step.
_FOR_NOBODY = frozenset(
    {
        *CancelReason,
        *(reason for reason in SuppressReason if reason),
        *(DeliveryReason.UNKNOWN_ACCOUNT, DeliveryReason.ACCOUNT_CHANGED, DeliveryReason.ACCOUNT_INACTIVE),
        *(DeliveryReason.NO_DESTINATION, DeliveryReason.NOT_NEEDED),
        *(DeliveryReason.SMS_PREFIX_LIMIT, DeliveryReason.SMS_BUDGET_SPENT),
    }
)
_EVENTS = (
    *(CountedEvent.ADMITTED, CountedEvent.SHADOW_FINISHED),
    *(CountedEvent.SHADOW_REFUSED, CountedEvent.SHADOW_DELAY),
)
#: How often, by event and label.
_Counted = Mapping[tuple[str, str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One channel as it is now, and what was counted of it within the rules' window.

    ``health``: reasons of the installation and of the channel. ``admitted`` by authority, ``shadowed``
    by ending; ``verified``: by value of ``RECOVERY`` when.
    """

    control: ChannelControl
    facts: Facts
    health: tuple[HealthReason, ...]
    admitted: Mapping[str, int]
    shadowed: Mapping[str, int]
    verified: Mapping[str, dt.datetime]

    @property
    def position(self) -> Position:
        """Where the channel stands."""
        return position(self.control)


def rules() -> Rules:
    """What this project asks of a step."""
    settings = get_settings()
    return Rules(
        first_slice=settings.first_slice,
        min_shadowed=settings.rollout_min_shadowed,
        window=settings.rollout_window,
        verified_for=settings.rollout_verified_for,
    )


def position(control: ChannelControl) -> Position:
    """Where ``control`` says its channel stands; a slice is a matter of live channels only."""
    live = control.mode == ChannelMode.LIVE
    return Position(control.mode, control.slice_per_mille if live else EVERYBODY)


def is_paused(control: ChannelControl) -> bool:
    """Whether the channel is paused, or probed to see if what paused it is over."""
    return control.paused or control.probing


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """What was read, of all channels at once; ``delays`` are of attempts, by bucket."""

    now: dt.datetime
    health: DeliveryHealth
    controls: Mapping[str, ChannelControl]
    counted: Mapping[str, _Counted]
    delays: Mapping[str, Sequence[int]]
    verified: Mapping[str, _Verified]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verified:
    """When one value of ``RECOVERY`` was last verified; first and last by a sweep of beat or the poller."""

    last: dt.datetime
    first_swept: dt.datetime | None
    last_swept: dt.datetime | None


@contextmanager
def reading() -> Iterator[None]:
    """Turns whatever the database says inside into :class:`NothingSeen`."""
    try:
        yield
    except Error as error:
        # Its text may hold the database's address.
        raise NothingSeen(
            f"The database did not tell in time how delivery is doing ({type(error).__name__}). Try again, "
            "with a longer RESETDELIVERY['SCRAPE_TIMEOUT'] if need be; going back, pausing and an override "
            "work without."
        ) from None


def look(*, using: str) -> dict[Channel, Seen]:
    """All configured channels; a few statements, however many there are.

    Raises :class:`NothingSeen`.
    """
    settings = get_settings()
    with reading():
        rows = _rows(settings, using)
    return {one.numbers.channel: _seen(one, rows, settings) for one in rows.health.channels}


def _rows(settings: Settings, using: str) -> _Rows:
    health = delivery_health(settings.rollout_window, using=using)
    connection = connections[using]
    with time_limit(connection, settings.scrape_timeout.total_seconds()):
        return _Rows(
            now=database_now(connection),
            health=health,
            controls={control.channel: control for control in ChannelControl.objects.using(using)},
            counted=_counted(health.counted_from, using),
            delays=_delays(health.counted_from, using),
            verified=_verified(using),
        )


def _counted(since: dt.datetime, using: str) -> Mapping[str, _Counted]:
    found: dict[str, dict[tuple[str, str], int]] = defaultdict(dict)
    rows = EventMinute.objects.using(using).filter(minute__gte=since, event__in=_EVENTS)
    for channel, event, label, number in (
        rows.values_list("channel", "event", "label").annotate(Sum("count")).order_by()
    ):
        found[channel][event, label] = number
    return found


def _delays(since: dt.datetime, using: str) -> Mapping[str, Sequence[int]]:
    found: dict[str, Sequence[int]] = {}
    for (channel, _), ended in read_ended(connections[using], since).items():
        found[channel] = summed(found.get(channel, ()), ended.queue_delay)
    return found


def _verified(using: str) -> Mapping[str, _Verified]:
    """By the audit trail's target."""
    entries = AuditEntry.objects.using(using).filter(action=RolloutAction.VERIFIED)
    by_itself = ~Q(why__endswith=SWEPT_HERE)
    found = entries.values_list("target").annotate(
        Max("at"), first=Min("at", filter=by_itself), last=Max("at", filter=by_itself)
    )
    return {
        target: _Verified(last=last, first_swept=first_swept, last_swept=last_swept)
        for target, last, first_swept, last_swept in found.order_by()
    }


def _seen(one: ChannelHealth, rows: _Rows, settings: Settings) -> Seen:
    channel = one.numbers.channel
    control = rows.controls.get(channel.value) or ChannelControl(channel=channel)
    counted = rows.counted.get(channel.value, {})
    targets = {recovery.value: verified_target(channel, recovery) for recovery in Recovery}
    verified = {name: rows.verified[target] for name, target in targets.items() if target in rows.verified}
    health = (*rows.health.reasons, *one.reasons)
    return Seen(
        control=control,
        facts=Facts(
            paused=is_paused(control),
            **_of_recovery(verified, rows.now, settings.recovery),
            **_of_deliveries(one, counted, rows.delays.get(channel.value, ())),
            lifetime_seconds=life_of(settings, channel).seconds,
            failing=tuple(reason.value for reason in health if reason in AGAINST),
            counted_seconds=rows.health.rollup_age_seconds,
            counts_stale=HealthReason.COUNTS_STALE in health,
        ),
        health=health,
        admitted=_by_label(counted, CountedEvent.ADMITTED),
        shadowed=_by_label(counted, CountedEvent.SHADOW_FINISHED),
        verified={name: found.last for name, found in verified.items()},
    )


def _of_recovery(verified: Mapping[str, _Verified], now: dt.datetime, recovery: Recovery) -> dict[str, Any]:
    def ages(moments: Mapping[str, dt.datetime | None]) -> dict[str, float]:
        return {name: (now - at).total_seconds() for name, at in moments.items() if at}

    first = ages({name: found.first_swept for name, found in verified.items()})
    return {
        "recovery": recovery.value,
        "verified_seconds": ages({name: found.last for name, found in verified.items()}),
        "swept_seconds": ages({name: found.last_swept for name, found in verified.items()}),
        "observed_seconds": first.get(Recovery.OBSERVE.value),
    }


def _of_deliveries(one: ChannelHealth, counted: _Counted, of_ours: Sequence[int]) -> dict[str, Any]:
    delays = summed(of_ours, _shadow_delays(counted))
    return {
        "would_send": counted.get((CountedEvent.SHADOW_FINISHED, Ending.SHADOWED), 0),
        "unsent": _unsent(counted),
        "accepted": one.numbers.attempts[OutcomeKind.ACCEPTED],
        "delays": sum(delays),
        "delay_p95_seconds": quantile(0.95, delays, QUEUE_DELAY_SECONDS),
        "oldest_due_seconds": _oldest(one),
    }


def _oldest(one: ChannelHealth) -> float | None:
    """Ours or a shadow: the next step makes one of the other."""
    waited = (one.numbers.oldest_due_seconds, one.numbers.oldest_shadow_seconds)
    return max((seconds for seconds in waited if seconds is not None), default=None)


def _by_label(counted: _Counted, event: CountedEvent) -> dict[str, int]:
    return {label: number for (name, label), number in counted.items() if name == event}


def _shadow_delays(counted: _Counted) -> Sequence[int]:
    """By bucket; a label is the bound of its bucket, or ``inf``."""
    counts = no_counts(QUEUE_DELAY_SECONDS)
    for bound, number in _by_label(counted, CountedEvent.SHADOW_DELAY).items():
        counts[bucket_of(float(bound), QUEUE_DELAY_SECONDS)] += number
    return counts


def _unsent(counted: _Counted) -> int:
    """Shadows that expired or failed though somebody should have got them, by their reasons."""
    refused = _by_label(counted, CountedEvent.SHADOW_REFUSED)
    return sum(number for reason, number in refused.items() if reason not in _FOR_NOBODY)
