"""All balances of one reconciliation, and what to print of them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.db import router

from resetdelivery.models import ResetIntent
from resetdelivery.reconciliation.balance import WORDS, Balance, Check
from resetdelivery.reconciliation.equations import all_of
from resetdelivery.reconciliation.snapshot import EPOCH, snapshot

#: Of these there is a balance per label: only what differs is printed.
_MANY = frozenset({Check.OUTCOME_MINUTES, Check.EVENT_MINUTES, Check.OUTCOME_TOTALS, Check.EVENT_TOTALS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was compared: rows from ``since`` until ``until``, as they were ``at`` one moment.

    Minutes before ``closed_before`` were final; ``None`` where none is yet.
    """

    at: dt.datetime
    since: dt.datetime
    until: dt.datetime
    closed_before: dt.datetime | None
    balances: tuple[Balance, ...]

    @property
    def differences(self) -> tuple[Balance, ...]:
        """The balances that should be even and are not."""
        return tuple(one for one in self.balances if one.difference)

    @property
    def ok(self) -> bool:
        """Whether everything agrees."""
        return not self.differences

    def lines(self) -> Iterator[str]:
        """As text, differences marked."""
        yield f"rows from {_moment(self.since)} until {_moment(self.until)} UTC, as of {_moment(self.at)}"
        yield (
            f"counts are final before {_moment(self.closed_before)}; later ones were counted anew"
            if self.closed_before
            else "no minute is closed yet: all counts were made anew"
        )
        for check, balances in groupby(self.balances, key=lambda one: one.check):
            yield from _block(check, list(balances))
        number = len(self.differences)
        yield f"{number} differences" if number else "no difference"

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        return {
            "at": self.at.isoformat(),
            "since": self.since.isoformat(),
            "until": self.until.isoformat(),
            "closed_before": self.closed_before and self.closed_before.isoformat(),
            "ok": self.ok,
            "differences": [_as_dict(one) for one in self.differences],
            "balances": [_as_dict(one) for one in self.balances],
        }


def reconcile(window: dt.timedelta, *, using: str | None = None) -> Report:
    """Compare counts, states and attempts of the last ``window``, and the lifetime totals.

    ``window`` is from a minute to seven days, and shortened to what retention keeps. All statements see
    one moment, also while everything runs, and wait for nobody; together they end within five minutes
    (``OperationalError``). Raises :class:`~resetdelivery.reconciliation.InvalidWindow`.
    """
    with snapshot(window, using=using or router.db_for_read(ResetIntent)) as at:
        return Report(
            at=at.now,
            since=at.since,
            until=at.until,
            closed_before=None if at.closed == EPOCH else at.closed,
            balances=tuple(all_of(at)),
        )


def _block(check: Check, balances: list[Balance]) -> Iterator[str]:
    even = [one for one in balances if not one.difference]
    if check in _MANY:
        words = WORDS[check]
        if even:
            yield f"ok    {words.left}, {words.right}: {len(even)} labels agree"
    else:
        yield from (f"ok    {_of(one)}{one.sentence()}" for one in even)
    yield from (f"OFF   {_of(one)}{one.sentence()}" for one in balances if one.difference)


def _of(one: Balance) -> str:
    minutes = f" in {one.minutes} minutes" if one.minutes else ""
    return f"{one.of}{minutes}: " if one.of else ""


def _as_dict(one: Balance) -> dict[str, Any]:
    return {
        "check": one.check.value,
        "channel": one.channel,
        "label": one.label,
        "left": one.left,
        "right": one.right,
        "difference": one.difference,
        "parts": dict(one.parts),
        "minutes": one.minutes,
        "surplus": one.surplus.value,
        "text": one.sentence(),
    }


def _moment(at: dt.datetime) -> str:
    return f"{at.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S}"
