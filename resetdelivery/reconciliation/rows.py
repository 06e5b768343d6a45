"""What the rows themselves say, counted plainly: not by the statements that the rollup uses."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from resetdelivery.claims.sql import ATTEMPT, DELIVERY, INTENT, Row, flat
from resetdelivery.reconciliation.balance import Check
from resetdelivery.reconciliation.snapshot import Snapshot

#: Numbers by channel, and within it by state, outcome or receipt.
ByChannel = Mapping[str, Counter[str]]

_OPEN = "d.state IN ('waiting', 'pending', 'leased', 'submitting')"
_IN_WINDOW = "i.created_at >= %s AND i.created_at < %s"
_ADMITTED = f"{DELIVERY} d JOIN {INTENT} i ON i.id = d.intent_id"

#: The window's deliveries, each with what its attempts come to.
_SUMMED = f"""
    SELECT d.channel AS channel, d.state AS state, d.outcome AS outcome, d.attempts AS counted,
        COALESCE(max(a.number), 0) AS highest, count(a.id) AS stored,
        COALESCE(sum(CASE WHEN a.outcome = '' THEN 1 ELSE 0 END), 0) AS running,
        COALESCE(sum(CASE WHEN a.outcome = '' AND a.token = d.lease_token THEN 1 ELSE 0 END), 0) AS held,
        COALESCE(sum(CASE WHEN a.outcome = 'accepted' THEN 1 ELSE 0 END), 0) AS accepted,
        COALESCE(sum(CASE WHEN a.receipt = 'delivered' THEN 1 ELSE 0 END), 0) AS arrived,
        COALESCE(sum(CASE WHEN a.receipt = 'failed' THEN 1 ELSE 0 END), 0) AS bounced
    FROM {_ADMITTED} LEFT JOIN {ATTEMPT} a ON a.delivery_id = d.id
    WHERE {_IN_WINDOW} GROUP BY d.id, d.channel, d.state, d.outcome, d.attempts
"""

#: Of the deliveries for which the first is so, the second must be so, too.
_AGREE: Mapping[Check, tuple[str, str]] = {
    Check.SUBMITTING: ("state = 'submitting'", "held > 0"),
    Check.RUNNING: ("running > 0", "state = 'submitting'"),
    Check.ACCEPTED_DELIVERIES: (
        "(state = 'accepted' OR outcome = 'accepted')",
        "(accepted > 0 OR arrived > 0)",
    ),
    Check.ACCEPTED_ATTEMPTS: (
        "accepted > 0",
        "(state IN ('accepted', 'delivered') OR (state = 'failed' AND outcome = 'accepted'))",
    ),
    # A later receipt of its arrival replaces that of its failure, and does not bring it back.
    Check.BOUNCED: ("state = 'failed' AND outcome = 'accepted'", "(bounced > 0 OR arrived > 0)"),
    Check.DELIVERED: ("state = 'delivered'", "arrived > 0"),
    Check.TOLD: ("state IN ('accepted', 'delivered') AND arrived > 0", "state = 'delivered'"),
}
#: A number is given once and never again, and no more attempts count than there are.
_SAID = "sum(CASE WHEN counted > highest THEN counted ELSE highest END)"


def deliveries(at: Snapshot) -> ByChannel:
    """Deliveries of the window's intents, by state."""
    return _grouped(
        at,
        f"SELECT d.channel, d.state, count(*) FROM {_ADMITTED} WHERE {_IN_WINDOW} GROUP BY 1, 2",
        (at.since, at.until),
    )


def open_deliveries(at: Snapshot) -> ByChannel:
    """All deliveries that are open, by state; partial indexes hold these alone."""
    some = "SELECT channel, state, count(*) FROM {table} WHERE state IN ({states}) GROUP BY 1, 2"
    idle = some.format(table=DELIVERY, states="'pending', 'waiting'")
    held = some.format(table=DELIVERY, states="'leased', 'submitting'")
    return _grouped(at, f"{idle} UNION ALL {held}", ())


def attempts(at: Snapshot) -> ByChannel:
    """Attempts that started in the window, by outcome; empty for those that run."""
    return _attempts(at, "a.outcome", "")


def accepted(at: Snapshot) -> ByChannel:
    """Accepted attempts that started in the window, by receipt; empty where there is none."""
    return _attempts(at, "a.receipt", "AND a.outcome = 'accepted'")


def _attempts(at: Snapshot, by: str, condition: str) -> ByChannel:
    return _grouped(
        at,
        f"SELECT d.channel, {by}, count(*) FROM {ATTEMPT} a JOIN {DELIVERY} d ON d.id = a.delivery_id "
        f"WHERE a.started_at >= %s AND a.started_at < %s {condition} GROUP BY 1, 2",
        (at.since, at.until),
    )


def agreeing(at: Snapshot) -> Mapping[tuple[Check, str], tuple[int, int]]:
    """By check and channel, how many of the window's deliveries say something, and how many agree.

    Of :data:`Check.ATTEMPT_ROWS` attempts: how many they say they had, and how many are stored.
    """
    columns = ", ".join(
        f"count(*) FILTER (WHERE {says}), count(*) FILTER (WHERE {says} AND {agrees})"
        for says, agrees in _AGREE.values()
    )
    rows = _fetched(
        at,
        f"SELECT channel, {_SAID}, sum(stored), {columns} FROM ({_SUMMED}) AS summed GROUP BY 1",
        (at.since, at.until),
    )
    return {
        (check, channel): (int(numbers[2 * place]), int(numbers[2 * place + 1]))
        for channel, *numbers in rows
        for place, check in enumerate((Check.ATTEMPT_ROWS, *_AGREE))
    }


def intents(at: Snapshot) -> Mapping[Check, tuple[int, int]]:
    """Open and closed intents of the window, and those of them whose deliveries agree."""
    has_work = f"EXISTS (SELECT 1 FROM {DELIVERY} d WHERE d.intent_id = i.id AND {_OPEN})"
    ((opened, with_work, closed, without),) = _fetched(
        at,
        f"SELECT count(*) FILTER (WHERE i.state = 'open'), "
        f"count(*) FILTER (WHERE i.state = 'open' AND {has_work}), "
        f"count(*) FILTER (WHERE i.state = 'closed'), "
        f"count(*) FILTER (WHERE i.state = 'closed' AND NOT {has_work}) "
        f"FROM {INTENT} i WHERE {_IN_WINDOW}",
        (at.since, at.until),
    )
    return {Check.OPEN_INTENTS: (opened, with_work), Check.CLOSED_INTENTS: (closed, without)}


def _grouped(at: Snapshot, sql: str, params: Row) -> ByChannel:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for channel, name, number in _fetched(at, sql, params):
        found[channel][name] += number
    return found


def _fetched(at: Snapshot, sql: str, params: Row) -> list[Any]:
    with at.connection.cursor() as cursor:
        cursor.execute(sql, flat(at.connection, [params]))
        return list(cursor.fetchall())
