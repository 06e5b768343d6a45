"""One operator at a time changes the channels, between what workers mark; nobody waits long for it."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from django.db import OperationalError, connections, transaction

from notifications.channels import Channel
from resetdelivery.account_locks import bounded_waits, is_lock_timeout
from resetdelivery.claims.sql import CONTROL
from resetdelivery.exceptions import ResetDeliveryError
from resetdelivery.models import ChannelControl

T = TypeVar("T")

#: For so long a step waits for its turn, and workers that would mark wait behind it.
TURN_SECONDS = 1.0
#: Between two tries, for those workers.
BETWEEN_TRIES_SECONDS = 0.5
#: For so long a pause is tried.
PATIENCE = dt.timedelta(seconds=30)


class ChannelsBusy(ResetDeliveryError):
    """Somebody held the channels for longer than a step waits; nothing was changed."""

    def __init__(self) -> None:
        super().__init__(
            f"Somebody holds the channels for longer than a step waits ({TURN_SECONDS:g} s); nothing was "
            "changed. Do it again: a process that hangs is cut off by idle_in_transaction_session_timeout."
        )


@contextmanager
def turn(channels: Sequence[Channel], *, using: str) -> Iterator[list[ChannelControl]]:
    """A transaction, with the rows of ``channels``: made where there are none, locked in one order.

    Raises :class:`ChannelsBusy`.
    """
    names = sorted({channel.value for channel in channels})
    rows = ChannelControl.objects.using(using)
    try:
        with transaction.atomic(using=using):
            _take_turn(using)
            rows.bulk_create([ChannelControl(channel=name) for name in names], ignore_conflicts=True)
            yield list(rows.select_for_update(no_key=True).filter(channel__in=names).order_by("channel"))
    except OperationalError as error:
        if not is_lock_timeout(error):
            raise
        raise ChannelsBusy from None


def insist(step: Callable[[], T], *, patience: dt.timedelta, on_wait: Callable[[], object]) -> T:
    """Try ``step`` again and again while channels are busy; ``on_wait`` is called once, before the second.

    Between tries workers mark what waited behind this one. Raises :class:`ChannelsBusy` once
    ``patience`` is over.
    """
    give_up_at = time.monotonic() + patience.total_seconds()
    said = False
    while True:
        try:
            return step()
        except ChannelsBusy:
            if time.monotonic() >= give_up_at:
                raise
        if not said:
            on_wait()
            said = True
        time.sleep(BETWEEN_TRIES_SECONDS)


def _take_turn(using: str) -> None:
    """Let what is being marked come to its end, and nothing new begin until the commit.

    Workers that mark share a row's lock, and PostgreSQL lets new ones share it past somebody who waits to
    change the row: with enough of them for ever. Waiting for a table's lock has an order. So everybody
    who marks waits behind this, on any channel: not for longer than a turn.
    """
    connection = connections[using]
    if connection.vendor != "postgresql":
        return  # One writer at a time: this transaction is it.
    with bounded_waits(using=using, seconds=TURN_SECONDS), connection.cursor() as cursor:
        cursor.execute(f"LOCK TABLE {CONTROL} IN EXCLUSIVE MODE")
