"""The last step of each transaction that moves a delivery: what waits for it, then the intent.

Whoever calls holds the intents' locks, so two channels that end at once see each other.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from django.dispatch import Signal

from notifications.channels import Channel
from resetdelivery.claims.sql import CONTROL, DELIVERY, INTENT, Row, close_intents, flat, marks, values_cte
from resetdelivery.clock import as_datetime, now_sql
from resetdelivery.conf import Settings, get_settings
from resetdelivery.domain.fallback import NOT_NEEDED, Before, Follow, follow, is_enough
from resetdelivery.domain.retry import retry_fits
from resetdelivery.domain.states import Authority, DeliveryState
from resetdelivery.logs import get_logger

log = get_logger("resetdelivery.fallback")

#: Sent after the commit that armed deliveries, with ``by_channel`` (their ids) and ``using``.
armed = Signal()

_UNSENT = frozenset({DeliveryState.WAITING, DeliveryState.PENDING, DeliveryState.LEASED})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """One delivery of an intent whose channels are used one after the other."""

    id: int
    intent_id: int
    channel: Channel
    before: Before
    due: bool
    fits: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    place: _Place
    step: Follow


def move_on(connection: BaseDatabaseWrapper, cursor: CursorWrapper, intents: Sequence[int]) -> int:
    """Arm or end what waits in ``intents``, and close those that are done; how many it stepped.

    One statement for intents that use all their channels at once, one more for the closing.
    """
    taken = list(_steps(_read(connection, cursor, intents)))
    if taken:
        _arm(connection, cursor, [one for one in taken if one.step.state is DeliveryState.PENDING])
        _cancel(connection, cursor, [one for one in taken if one.step.state is DeliveryState.CANCELLED])
    close_intents(connection, cursor, intents)
    return len(taken)


def _read(connection: BaseDatabaseWrapper, cursor: CursorWrapper, intents: Sequence[int]) -> list[_Place]:
    wanted = sorted(set(intents))
    now = now_sql(connection)
    cursor.execute(
        f"""
        SELECT d.id, d.intent_id, d.channel, d.state, d.reason, d.authority, COALESCE(c.paused, false),
            d.arm_at, d.expires_at, {now}
        FROM {DELIVERY} d JOIN {INTENT} i ON i.id = d.intent_id
            LEFT JOIN {CONTROL} c ON c.channel = d.channel
        WHERE d.intent_id IN ({marks(wanted)}) AND i.strategy = 'fallback' AND i.state = 'open'
        ORDER BY d.intent_id, d.position
        """,
        wanted,
    )
    settings = get_settings()
    return [_place(row, settings) for row in cursor.fetchall()]


def _place(row: Sequence[Any], settings: Settings) -> _Place:
    channel, arm_at, now = Channel(row[2]), row[7], as_datetime(row[9])
    options = settings.channels.get(channel)
    return _Place(
        id=row[0],
        intent_id=row[1],
        channel=channel,
        before=Before(
            state=DeliveryState(row[3]),
            reason=row[4],
            authority=Authority(row[5]),
            paused=bool(row[6]),
            gives_receipts=options is not None and options.gives_receipts,
        ),
        due=arm_at is not None and as_datetime(arm_at) <= now,
        fits=_fits(settings, channel, now, as_datetime(row[8])),
    )


def _fits(settings: Settings, channel: Channel, now: dt.datetime, expires_at: dt.datetime) -> bool:
    # A channel that is no longer configured has nobody who would send it.
    return channel in settings.channels and retry_fits(
        settings.policy(channel), now=now, delay_seconds=0, expires_at=expires_at
    )


def _steps(places: Sequence[_Place]) -> Iterator[_Taken]:
    for _, of_one_intent in groupby(places, key=lambda place: place.intent_id):
        earlier: list[Before] = []
        for place in of_one_intent:
            step = _step(place, earlier)
            if step is not None:
                yield _Taken(place=place, step=step)
            earlier.append(_after(place.before, step))


def _step(place: _Place, earlier: Sequence[Before]) -> Follow | None:
    """What ``place`` does behind the channels before it. One that was armed may yet turn out needless."""
    if not earlier or place.before.state not in _UNSENT:
        return None
    if any(map(is_enough, earlier)):
        return NOT_NEEDED
    if place.before.state is not DeliveryState.WAITING:
        return None
    return follow(earlier[-1], due=place.due, fits=place.fits)


def _after(before: Before, step: Follow | None) -> Before:
    return before if step is None else replace(before, state=step.state, reason=step.reason)


def _arm(connection: BaseDatabaseWrapper, cursor: CursorWrapper, taken: Sequence[_Taken]) -> None:
    if not taken:
        return
    now = now_sql(connection)
    rows: list[Row] = [(one.place.id, one.step.reason) for one in taken]
    # hinted_at stays empty: until someone is told, any worker may take it.
    cursor.execute(
        f"""
        WITH {values_cte("steps", ("step_id", "step_reason"), rows)}
        UPDATE {DELIVERY} SET state = 'pending', due_at = {now}, arm_at = {now}, arm_reason = step_reason
        FROM steps WHERE id = step_id AND state = 'waiting'
        """,
        flat(connection, rows),
    )
    using = connection.alias
    transaction.on_commit(lambda: _tell(taken, using), using=using)


def _tell(taken: Sequence[_Taken], using: str) -> None:
    by_channel: dict[Channel, list[int]] = defaultdict(list)
    for one in taken:
        by_channel[one.place.channel].append(one.place.id)
        log.info("fallback_armed", channel=one.place.channel.value, reason=str(one.step.reason))
    armed.send_robust(sender=None, by_channel=by_channel, using=using)


def _cancel(connection: BaseDatabaseWrapper, cursor: CursorWrapper, taken: Sequence[_Taken]) -> None:
    if not taken:
        return
    rows: list[Row] = [(one.place.id, one.step.reason) for one in taken]
    # A leased one was not sent, and its holder's mark will match no row.
    cursor.execute(
        f"""
        WITH {values_cte("steps", ("step_id", "step_reason"), rows)}
        UPDATE {DELIVERY} SET state = 'cancelled', reason = step_reason, finished_at = {now_sql(connection)},
            lease_owner = '', lease_expires_at = NULL
        FROM steps WHERE id = step_id AND state IN ('waiting', 'pending', 'leased')
        """,
        flat(connection, rows),
    )
