"""How delivery is doing: now, and within a window; a bounded answer, however much is stored."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.db import connections, router

from notifications.channels import Channel
from notifications.outcome import OutcomeKind
from resetdelivery import broker
from resetdelivery.clock import database_now
from resetdelivery.conf import Dispatch, Recovery, Settings, get_settings
from resetdelivery.domain.health import (
    ChannelNumbers,
    HealthReason,
    LifeLeft,
    QueueDelay,
    Verdict,
)
from resetdelivery.domain.quantiles import quantile
from resetdelivery.domain.reasons import PauseReason
from resetdelivery.domain.telemetry import (
    QUEUE_DELAY_SECONDS,
    REMAINING_RATIO,
    CountedEvent,
    Job,
    bucket_of,
    summed,
)
from resetdelivery.domain.verdict import (
    channel_reasons,
    counts_reason,
    due_patience,
    sweep_patience,
    sweep_reason,
    verdict_of,
)
from resetdelivery.models import Delivery
from resetdelivery.telemetry.health_rows import Current, Ended, read_current, read_ended
from resetdelivery.telemetry.minutes import minute_of
from resetdelivery.telemetry.time_limit import time_limit

_Ended = Mapping[tuple[str, OutcomeKind], Ended]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelHealth:
    """One channel's numbers, and what they say about it."""

    numbers: ChannelNumbers
    verdict: Verdict
    reasons: tuple[HealthReason, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryHealth:
    """The whole installation; ``verdict`` is the worst of its own reasons and its channels'.

    The window's numbers are of whole minutes: from ``counted_from``, the start of the minute in
    which the window began, to ``counted_until``, when minutes were last counted (``None`` if that
    was before the window). Ages are in seconds, ``None`` for what never was; ``broker_reachable`` is
    ``None`` where no broker is used.
    """

    window: dt.timedelta
    counted_from: dt.datetime
    counted_until: dt.datetime | None
    verdict: Verdict
    reasons: tuple[HealthReason, ...]
    sweep_age_seconds: float | None
    rollup_age_seconds: float | None
    broker_reachable: bool | None
    channels: tuple[ChannelHealth, ...]


def delivery_health(window: dt.timedelta, *, using: str | None = None) -> DeliveryHealth:
    """One of :data:`~resetdelivery.domain.health.WINDOWS`, judged; channels by name.

    ``OperationalError`` if the database is away, or needs longer than ``SCRAPE_TIMEOUT``; a broker
    that is away costs ``PUBLISH_TIMEOUT`` at most.
    """
    # Not from a replica: one that lags makes everything look late.
    connection = connections[using or router.db_for_write(Delivery)]
    settings = get_settings()
    with time_limit(connection, settings.scrape_timeout.total_seconds()):
        now = database_now(connection)
        since = minute_of(now - window)
        current, ended = read_current(connection, since), read_ended(connection, since)
    channels = tuple(_channel(channel, current, ended, settings) for channel in sorted(settings.channels))
    reachable = _broker_reachable(settings)
    reasons = _reasons(current, reachable, settings)
    rollup_age = current.job_age(Job.ROLL_UP)
    return DeliveryHealth(
        window=window,
        counted_from=since,
        counted_until=_after(since, now, rollup_age),
        verdict=verdict_of([*reasons, *(reason for one in channels for reason in one.reasons)]),
        reasons=reasons,
        sweep_age_seconds=current.job_age(Job.SWEEP),
        rollup_age_seconds=rollup_age,
        broker_reachable=reachable,
        channels=channels,
    )


def _after(since: dt.datetime, now: dt.datetime, age_seconds: float | None) -> dt.datetime | None:
    if age_seconds is None:
        return None
    at = now - dt.timedelta(seconds=age_seconds)
    return at if at > since else None


def _broker_reachable(settings: Settings) -> bool | None:
    if settings.dispatch is not Dispatch.BROKER:
        return None
    try:
        broker.queue_length(next(iter(settings.channels.values())).queue)
    except broker.BrokerUnavailable:
        return False
    return True


def _channel(channel: Channel, current: Current, ended: _Ended, settings: Settings) -> ChannelHealth:
    numbers = _numbers(channel, current, {k: one for (name, k), one in ended.items() if name == channel})
    options = settings.channel(channel)
    recovery = settings.lease + settings.sweep_interval + settings.sweep_grace + options.send_budget
    reasons = channel_reasons(
        numbers,
        due_patience(
            useful_life_seconds=_useful_life_seconds(channel, settings),
            recovery_seconds=recovery.total_seconds(),
        ),
    )
    return ChannelHealth(numbers=numbers, verdict=verdict_of(reasons), reasons=reasons)


def _useful_life_seconds(channel: Channel, settings: Settings) -> float:
    """Of a reset that asks for no lifetime of its own."""
    life = min(settings.lifetime, settings.channel(channel).max_lifetime).total_seconds()
    return max(life - settings.policy(channel).useful_floor_seconds, 0.0)


def _numbers(channel: Channel, current: Current, ended: Mapping[OutcomeKind, Ended]) -> ChannelNumbers:
    def rows(state: str) -> int:
        return current.open.get((channel, state), 0)

    def happened(event: CountedEvent) -> int:
        return current.events.get((channel, event), 0)

    pause_reason, paused = current.pauses.get(channel, ("", False))
    accepted = ended.get(OutcomeKind.ACCEPTED)
    return ChannelNumbers(
        channel=channel,
        mode=current.modes.get(channel, "live"),
        paused=paused,
        pause_reason=PauseReason(pause_reason),
        waiting=rows("waiting"),
        pending=rows("pending"),
        leased=rows("leased"),
        submitting=rows("submitting"),
        oldest_due_seconds=current.due_seconds.get(channel),
        oldest_shadow_seconds=current.shadow_seconds.get(channel),
        admitted=happened(CountedEvent.ADMITTED),
        finished=happened(CountedEvent.FINISHED),
        expired_usefully=happened(CountedEvent.EXPIRED_USEFULLY),
        lease_recoveries=happened(CountedEvent.LEASE_RECOVERED),
        attempts={kind: ended[kind].attempts if kind in ended else 0 for kind in OutcomeKind},
        queue_delay=_queue_delay(summed(*(one.queue_delay for one in ended.values()))),
        life_left_at_acceptance=_life_left(accepted.remaining if accepted else ()),
    )


def _queue_delay(counts: Sequence[int]) -> QueueDelay:
    def at(share: float) -> float | None:
        return quantile(share, counts, QUEUE_DELAY_SECONDS)

    return QueueDelay(
        p50_seconds=at(0.5),
        p95_seconds=at(0.95),
        p99_seconds=at(0.99),
        beyond=sum(counts[len(QUEUE_DELAY_SECONDS) :]),
    )


def _life_left(counts: Sequence[int]) -> LifeLeft:
    return LifeLeft(
        median=quantile(0.5, counts, REMAINING_RATIO, top=1.0),
        quarter_or_less=sum(counts[: bucket_of(0.25, REMAINING_RATIO) + 1]),
    )


def _reasons(current: Current, reachable: bool | None, settings: Settings) -> tuple[HealthReason, ...]:
    found = [
        HealthReason.BROKER_AWAY if reachable is False else None,
        _recovery_reason(current, settings),
        counts_reason(
            current.job_age(Job.ROLL_UP), unclosed_seconds=_unclosed_seconds(current.open_seconds, settings)
        ),
    ]
    return tuple(reason for reason in found if reason)


def _unclosed_seconds(open_seconds: float | None, settings: Settings) -> float | None:
    return None if open_seconds is None else open_seconds - settings.rollup_close_after.total_seconds()


def _recovery_reason(current: Current, settings: Settings) -> HealthReason | None:
    if settings.dispatch is Dispatch.INLINE:
        # Nothing outlives the caller's own process, and nobody sweeps.
        return None
    if settings.recovery is not Recovery.ON:
        off = settings.recovery is Recovery.OFF
        return HealthReason.RECOVERY_OFF if off else HealthReason.RECOVERY_OBSERVES
    shortest = min(_useful_life_seconds(channel, settings) for channel in settings.channels)
    patience = sweep_patience(
        interval_seconds=settings.sweep_interval.total_seconds(), shortest_useful_life_seconds=shortest
    )
    return sweep_reason(current.job_age(Job.SWEEP), patience)


def told(health: DeliveryHealth) -> dict[str, Any]:
    """``health`` as the endpoint and the command tell it: one flat entry for each channel."""
    return {
        "window_seconds": int(health.window.total_seconds()),
        "counted_from": health.counted_from,
        "counted_until": health.counted_until,
        "verdict": health.verdict.value,
        "reasons": [reason.value for reason in health.reasons],
        "sweep_age_seconds": _rounded(health.sweep_age_seconds),
        "rollup_age_seconds": _rounded(health.rollup_age_seconds),
        "broker_reachable": health.broker_reachable,
        "channels": [_channel_told(one) for one in health.channels],
    }


def _channel_told(one: ChannelHealth) -> dict[str, Any]:
    numbers = asdict(one.numbers)
    del numbers["pause_reason"]
    return {
        **numbers,
        "channel": one.numbers.channel.value,
        "verdict": one.verdict.value,
        "reasons": [reason.value for reason in one.reasons],
        "oldest_due_seconds": _rounded(one.numbers.oldest_due_seconds),
        "oldest_shadow_seconds": _rounded(one.numbers.oldest_shadow_seconds),
        "attempts": {kind.value: number for kind, number in one.numbers.attempts.items()},
        **{
            group: {name: _rounded(value) for name, value in numbers[group].items()}
            for group in ("queue_delay", "life_left_at_acceptance")
        },
    }


def _rounded(value: float | None) -> float | None:
    """To milliseconds; of a share, to a thousandth."""
    return None if value is None else round(value, 3)
