"""Where every channel stands, what comes next, and how it came there."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass

from django.db import router

from notifications.channels import Channel
from resetdelivery.conf import get_settings
from resetdelivery.cutover import facts
from resetdelivery.cutover.facts import Seen
from resetdelivery.domain.health import HealthReason, Verdict
from resetdelivery.domain.preconditions import findings
from resetdelivery.domain.reasons import PauseReason
from resetdelivery.domain.rollout import (
    Finding,
    Position,
    RolloutAction,
    Rules,
    next_position,
    next_step,
)
from resetdelivery.domain.verdict import verdict_of
from resetdelivery.models import AuditEntry, ChannelControl


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelStatus:
    """One channel now, and within ``window``.

    ``paused`` also while a channel that paused itself is probed; why, by whom and since when is known of
    an operator's pause. ``verified``: by value of ``RECOVERY`` when it was last shown to work;
    ``recovery`` is its value now. ``admitted`` is by authority; ``shadowed`` by ending: the ones called
    ``shadowed`` would have been sent. ``delay_p95_seconds`` is of ``delays`` deliveries, ours and
    shadowed; ``None`` for none, or above all buckets. ``verdict`` is of ``reasons``: the installation's
    and the channel's. ``next_position`` is the next step forward, ``None``
    where all is ours, ``next_findings`` what it asks for, and ``next_step`` the arguments of
    ``manage.py`` that come next (maybe others before it; empty where all is ours).
    """

    channel: Channel
    position: Position
    paused: bool
    pause_reason: PauseReason
    pause_why: str
    paused_by: str
    paused_since: dt.datetime | None
    recovery: str
    verified: Mapping[str, dt.datetime]
    window: dt.timedelta
    admitted: Mapping[str, int]
    shadowed: Mapping[str, int]
    oldest_due_seconds: float | None
    delays: int
    delay_p95_seconds: float | None
    lifetime_seconds: float
    verdict: Verdict
    reasons: tuple[HealthReason, ...]
    next_position: Position | None
    next_findings: tuple[Finding, ...]
    next_step: str


def status(*, using: str | None = None) -> tuple[ChannelStatus, ...]:
    """All configured channels, by name.

    Raises :class:`~resetdelivery.cutover.facts.NothingSeen`.
    """
    alias = using or router.db_for_write(ChannelControl)
    rules, seen = facts.rules(), facts.look(using=alias)
    with facts.reading():
        return tuple(_status(channel, seen[channel], rules, alias) for channel in sorted(seen))


def history(*, limit: int = 50, using: str | None = None) -> list[AuditEntry]:
    """The last ``limit`` steps of a rollout, of all channels, the newest first."""
    alias = using or router.db_for_write(AuditEntry)
    entries = AuditEntry.objects.using(alias).filter(action__in=list(RolloutAction))
    return list(entries.order_by("-at", "-pk")[:limit])


def _status(channel: Channel, seen: Seen, rules: Rules, using: str) -> ChannelStatus:
    now, then = seen.position, next_position(seen.position, rules)
    pause = _pause(seen.control, using) if seen.facts.paused else None
    return ChannelStatus(
        channel=channel,
        position=now,
        paused=seen.facts.paused,
        pause_reason=PauseReason(seen.control.pause_reason),
        pause_why=pause.why if pause else "",
        paused_by=pause.who if pause else "",
        paused_since=pause.at if pause else None,
        recovery=get_settings().recovery.value,
        verified=seen.verified,
        window=rules.window,
        admitted=seen.admitted,
        shadowed=seen.shadowed,
        oldest_due_seconds=seen.facts.oldest_due_seconds,
        delays=seen.facts.delays,
        delay_p95_seconds=seen.facts.delay_p95_seconds,
        lifetime_seconds=seen.facts.lifetime_seconds,
        verdict=verdict_of(seen.health),
        reasons=seen.health,
        next_position=then,
        next_findings=findings(now, then, seen.facts, rules) if then else (),
        next_step=next_step(channel.value, now, seen.facts, rules),
    )


def _pause(control: ChannelControl, using: str) -> AuditEntry | None:
    """The entry of an operator's pause. What paused itself, or was paused behind our back, has none."""
    if control.pause_reason != PauseReason.OPERATOR:
        return None
    last = (
        AuditEntry.objects.using(using)
        .filter(action__in=[RolloutAction.PAUSE, RolloutAction.RESUME], target=control.channel)
        .order_by("-at", "-pk")
        .first()
    )
    return last if last and last.action == RolloutAction.PAUSE else None
