"""Move a channel between senders, pause it and resume it: one transaction each, with its audit entry.

A delivery has its sender from its admission on. A step changes what is admitted after its commit.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from django.db import connections, router, transaction

from notifications.channels import Channel
from resetdelivery import audit, dispatch
from resetdelivery.clock import database_now
from resetdelivery.conf import Dispatch, get_settings
from resetdelivery.cutover import facts
from resetdelivery.cutover.facts import NothingSeen, is_paused, position
from resetdelivery.cutover.turns import PATIENCE, insist, turn
from resetdelivery.cutover.turns import ChannelsBusy as ChannelsBusy  # also for those who import it here
from resetdelivery.domain.preconditions import findings, nothing_seen
from resetdelivery.domain.reasons import PauseReason
from resetdelivery.domain.rollout import (
    EVERYBODY,
    ChannelMode,
    Facts,
    Finding,
    Position,
    RolloutAction,
)
from resetdelivery.domain.states import DeliveryState
from resetdelivery.exceptions import ResetDeliveryError
from resetdelivery.models import AuditEntry, ChannelControl, Delivery

_LONGEST_WHY = AuditEntry._meta.get_field("why").max_length or 0


class InvalidStep(ResetDeliveryError, ValueError):
    """A step that there is none of, or one without the reason that it needs; nothing was changed."""


class StepRefused(ResetDeliveryError):
    """A precondition of the step does not hold; nothing was changed. ``findings`` are all of them."""

    def __init__(self, found: Sequence[Finding]) -> None:
        super().__init__(f"Refused for {_failed(found)}. Mend that, or override it with a reason.")
        self.findings = tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A step that was made; where ``before`` and ``after`` are equal there was nothing to do."""

    before: Position
    after: Position
    findings: tuple[Finding, ...]


def preview(
    channel: Channel, *, mode: str, slice_per_mille: int, using: str | None = None
) -> tuple[Finding, ...]:
    """What :func:`change` would find now; empty for a step back, which asks for nothing.

    Raises :class:`InvalidStep` and :class:`~resetdelivery.cutover.facts.NothingSeen`.
    """
    alias = using or router.db_for_write(ChannelControl)
    wanted = _wanted(channel, mode, slice_per_mille)
    before = position(_control(channel, alias))
    if not wanted.is_beyond(before):
        return ()
    return findings(before, wanted, _facts(channel, alias), facts.rules())


def change(
    channel: Channel,
    *,
    mode: str,
    slice_per_mille: int,
    who: str,
    why: str = "",
    override: bool = False,
    using: str | None = None,
) -> Changed:
    """Set a channel's mode (a value of ChannelMode) and slice (1 to 1000), for what is admitted next.

    A step back is never refused. A step forward asks for
    :func:`~resetdelivery.domain.preconditions.findings`; with ``override``, which needs ``why``, it is
    made all the same, also where nothing can be seen, and the audit entry names what failed. A slice is
    a matter of live channels: the other modes are for all accounts.

    Raises :class:`StepRefused`, :class:`InvalidStep`, :class:`ChannelsBusy`,
    :class:`~resetdelivery.cutover.facts.NothingSeen` and :class:`~resetdelivery.audit.InvalidAuditEntry`.
    """
    alias = using or router.db_for_write(ChannelControl)
    wanted = _wanted(channel, mode, slice_per_mille)
    why = " ".join(why.split())
    if override and not why:
        raise InvalidStep("An override needs a reason: why the step is made although it should not be.")
    # Not under the lock, which workers would wait for. Back asks for nothing, and so works also while
    # the numbers cannot be read.
    forward = wanted.is_beyond(position(_control(channel, alias)))
    seen = _seen(channel, alias, override=override) if forward else None
    with turn([channel], using=alias) as (control,):
        before = position(control)
        found = _found(control, wanted, seen)
        if before != wanted:
            failed = [one for one in found if not one.ok]
            if failed and not override:
                raise StepRefused(found)
            control.mode, control.slice_per_mille = wanted.mode, wanted.slice_per_mille
            control.save(using=alias, update_fields=["mode", "slice_per_mille"])
            told = _overridden(why, failed) if failed else why
            target = f"{channel}: {before} -> {wanted}"
            audit.record(who=who, action=RolloutAction.SET, target=target, why=told, using=alias)
    return Changed(before=before, after=wanted, findings=found)


def pause(
    channels: Sequence[Channel],
    *,
    who: str,
    why: str,
    patience: dt.timedelta = PATIENCE,
    on_wait: Callable[[], object] = lambda: None,
    using: str | None = None,
) -> tuple[Channel, ...]:
    """Pause ``channels`` until they are resumed; those that no operator had paused already.

    Returns once everything that was being marked is on record; nothing is marked after it. What is on
    record may still be sent, and what waits still expires. While somebody holds the channels it is tried
    again for as long as ``patience`` says; ``on_wait`` is called once when that begins.

    Raises :class:`InvalidStep`, :class:`ChannelsBusy` and :class:`~resetdelivery.audit.InvalidAuditEntry`.
    """
    alias = using or router.db_for_write(ChannelControl)
    if not why.strip():
        raise InvalidStep("A pause needs a reason: why, for whoever finds the channel paused.")
    return insist(partial(_pause, channels, who, why, alias), patience=patience, on_wait=on_wait)


def _pause(channels: Sequence[Channel], who: str, why: str, alias: str) -> tuple[Channel, ...]:
    with turn(channels, using=alias) as rows:
        open_ones = [control for control in rows if not _is_paused_by_operator(control)]
        for control in open_ones:
            _set_pause(control, paused=True, using=alias)
            audit.record(who=who, action=RolloutAction.PAUSE, target=control.channel, why=why, using=alias)
    return tuple(Channel(control.channel) for control in open_ones)


def resume(
    channels: Sequence[Channel], *, who: str, why: str = "", using: str | None = None
) -> tuple[Channel, ...]:
    """Resume ``channels``, whoever or whatever paused them; those that were paused.

    Workers are told after the commit, so that they need not wait for the next sweep.

    Raises :class:`ChannelsBusy` and :class:`~resetdelivery.audit.InvalidAuditEntry`.
    """
    alias = using or router.db_for_write(ChannelControl)
    with turn(channels, using=alias) as rows:
        paused = [control for control in rows if is_paused(control)]
        for control in paused:
            _set_pause(control, paused=False, using=alias)
            audit.record(who=who, action=RolloutAction.RESUME, target=control.channel, why=why, using=alias)
        resumed = tuple(Channel(control.channel) for control in paused)
        transaction.on_commit(lambda: _tell(resumed, alias), using=alias)
    return resumed


def _wanted(channel: Channel, mode: str, slice_per_mille: int) -> Position:
    if channel not in get_settings().channels:
        raise InvalidStep(f"{channel.value!r} is not in RESETDELIVERY['CHANNELS']: nobody sends on it.")
    if mode not in list(ChannelMode):
        raise InvalidStep(f"{mode!r} is no mode; use 'legacy', 'shadow' or 'live'.")
    if not 1 <= slice_per_mille <= EVERYBODY:
        raise InvalidStep(f"A slice of {slice_per_mille} per mille is out of range; use 1 to {EVERYBODY}.")
    live = mode == ChannelMode.LIVE
    return Position(ChannelMode(mode), slice_per_mille if live else EVERYBODY)


def _control(channel: Channel, using: str) -> ChannelControl:
    return ChannelControl.objects.using(using).filter(pk=channel).first() or ChannelControl(channel=channel)


def _facts(channel: Channel, using: str) -> Facts:
    return facts.look(using=using)[channel].facts


def _seen(channel: Channel, using: str, *, override: bool) -> Facts | NothingSeen:
    try:
        return _facts(channel, using)
    except NothingSeen as nothing:
        if not override:
            raise
        return nothing


def _found(
    control: ChannelControl, wanted: Position, seen: Facts | NothingSeen | None
) -> tuple[Finding, ...]:
    """By position and pause of the locked row: they may have changed since the rest was read."""
    before = position(control)
    if not wanted.is_beyond(before):
        return ()
    if seen is None:
        raise InvalidStep("Somebody else moved the channel back just now. Look at it again.")
    if isinstance(seen, NothingSeen):
        return (nothing_seen(),)
    return findings(before, wanted, replace(seen, paused=is_paused(control)), facts.rules())


def _is_paused_by_operator(control: ChannelControl) -> bool:
    return control.paused and control.pause_reason == PauseReason.OPERATOR


def _set_pause(control: ChannelControl, *, paused: bool, using: str) -> None:
    control.paused, control.probing, control.probe_at = paused, False, None
    control.pause_reason = PauseReason.OPERATOR if paused else PauseReason.NONE
    control.save(using=using, update_fields=["paused", "probing", "probe_at", "pause_reason"])


def _tell(channels: Sequence[Channel], using: str) -> None:
    settings = get_settings()
    if settings.dispatch is Dispatch.BROKER:
        for channel in channels:
            if channel in settings.channels:
                dispatch.note_unhinted(_hinted_in_vain(channel, using), using=using)
                dispatch.publish_hint(channel, [])


def _hinted_in_vain(channel: Channel, using: str) -> list[int]:
    """Rows so new that workers leave them to their own hints, which came while nothing was claimed."""
    settings = get_settings()
    since = database_now(connections[using]) - settings.fill_after
    rows = Delivery.objects.using(using).filter(
        channel=channel, state=DeliveryState.PENDING, due_at__gt=since, hinted_at__isnull=False
    )
    return list(rows.order_by("due_at").values_list("pk", flat=True)[: settings.sweep_limit])


def _failed(found: Sequence[Finding]) -> str:
    return ", ".join(one.name for one in found if not one.ok)


def _overridden(why: str, failed: Sequence[Finding]) -> str:
    """The entry's text: that preconditions were overridden, the operator's reason, and which they were."""
    text = f"override: {why} ({_failed(failed)})"
    if len(text) > _LONGEST_WHY:
        room = len(why) - (len(text) - _LONGEST_WHY)
        raise InvalidStep(f"The reason has {len(why)} characters; beside what failed {room} have room.")
    return text
