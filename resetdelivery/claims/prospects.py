"""What a wave's answers say of the providers, and what that leaves for each delivery of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from resetdelivery.claims import circuits
from resetdelivery.domain.circuit import Report
from resetdelivery.domain.failover import Circuits, Lineup, Prospect, bound_to, prospect

if TYPE_CHECKING:
    from resetdelivery.claims.settle import Result


def prospects_after(
    connection: BaseDatabaseWrapper,
    cursor: CursorWrapper,
    results: Sequence[Result],
    lineup: Lineup | None,
) -> Sequence[Prospect | None]:
    """Teach the circuits the wave's outcomes; each result's prospect, ``None`` without a lineup."""
    if lineup is None:
        return [None] * len(results)
    in_order = sorted(results, key=lambda result: result.finished_at)
    reports: dict[str, list[Report]] = {}
    for result in in_order:
        report = Report(outcome=result.outcome, probe=result.marked.probe)
        reports.setdefault(result.marked.transport, []).append(report)
    channel, now = results[0].marked.claimed.channel, in_order[-1].finished_at
    known = circuits.learn(connection, cursor, channel, reports, lineup, now)
    return [_prospect(result, lineup, known) for result in results]


def _prospect(result: Result, lineup: Lineup, known: Circuits) -> Prospect:
    claimed = result.marked.claimed
    return prospect(
        result.marked.transport,
        bound_to(claimed.channel, claimed.may_have_it),
        lineup.order,
        known,
        now=result.finished_at,
    )
