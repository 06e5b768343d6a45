"""What is held, how old it is, and why it is still there."""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connections, router

from resetdelivery.clock import as_datetime
from resetdelivery.models import ResetIntent
from resetdelivery.retention.policy import POLICY, End, Rule
from resetdelivery.retention.rounds import EPOCH, Round, begin

#: What is held longer than its time and this is a fault; less is what rounds, retries and open intents take.
PATIENCE = dt.timedelta(days=1)
_COUNTED = frozenset({"intents", "decoys", "attempts", "outcome_minutes", "event_minutes"})


class Because(enum.StrEnum):
    """Why something is held."""

    #: It has no end of its own: configuration, totals, or what goes with its intent.
    STAYS = "stays"
    #: Its time is not over.
    IN_TIME = "in time"
    #: Its time is over, and a round of purging comes.
    NEXT_PURGE = "next purge"
    #: Its time is over, and it is not in the lifetime totals yet.
    WAITS_FOR_ROLLUP = "waits for the rollup"
    #: Its time has been over for more than a day.
    OVERDUE = "overdue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """How much of one rule's subject is held, and since when the oldest; ``keep`` is the policy's time.

    ``past`` is how many are older than that, and ``late`` by how much the oldest is.
    """

    rule: Rule
    rows: int
    oldest: dt.datetime | None
    keep: dt.timedelta | None
    past: int
    late: dt.timedelta
    because: Because

    def is_overdue(self) -> bool:
        """Whether the policy is not kept."""
        return self.late > PATIENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All holdings at one moment; ``counted_before`` is ``None`` before the first rollup."""

    at: dt.datetime
    counted_before: dt.datetime | None
    holdings: Sequence[Holding]

    def overdue(self) -> list[Holding]:
        """What should have gone a day ago."""
        return [one for one in self.holdings if one.is_overdue()]


def report(*, using: str | None = None) -> Report:
    """Count what is held, rule by rule. Reads every table once: minutes where there are ten million rows."""
    round_ = begin(connections[using or router.db_for_read(ResetIntent)])
    counted = None if round_.counted_before == EPOCH else round_.counted_before
    return Report(at=round_.now, counted_before=counted, holdings=[_holding(round_, rule) for rule in POLICY])


def _holding(round_: Round, rule: Rule) -> Holding:
    keep = rule.kept_for(round_.settings)
    rows, oldest, past = _count(round_, rule, keep)
    late = (
        max(dt.timedelta(0), round_.now - oldest - keep) if oldest and keep is not None else dt.timedelta(0)
    )
    return Holding(
        rule=rule,
        rows=rows,
        oldest=oldest,
        keep=keep,
        past=past,
        late=late,
        because=_because(round_, rule, keep, late),
    )


def _count(round_: Round, rule: Rule, keep: dt.timedelta | None) -> tuple[int, dt.datetime | None, int]:
    table = rule.model._meta.db_table
    with round_.connection.cursor() as cursor:
        if keep is None:
            cursor.execute(f"SELECT COUNT(*) FROM {table}")
            return int(cursor.fetchone()[0]), None, 0
        cursor.execute(
            f"SELECT COUNT(*), MIN({rule.since}), SUM(CASE WHEN {rule.since} < %s THEN 1 ELSE 0 END) "
            f"FROM {table} WHERE {rule.held}",
            round_.moments(round_.before(keep)),
        )
        rows, oldest, past = cursor.fetchone()
    return int(rows), as_datetime(oldest) if oldest else None, int(past or 0)


def _because(round_: Round, rule: Rule, keep: dt.timedelta | None, late: dt.timedelta) -> Because:
    if keep is None or rule.end is End.STAYS:
        return Because.STAYS
    if not late:
        return Because.IN_TIME
    if rule.name in _COUNTED and round_.counted(keep) < round_.before(keep):
        return Because.WAITS_FOR_ROLLUP
    return Because.OVERDUE if late > PATIENCE else Because.NEXT_PURGE
