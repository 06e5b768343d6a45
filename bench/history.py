"""A database after months of work: attempts by the million, and minutes and totals as retention leaves them.

What is stored follows from the row's number alone, so that each run builds the same.
"""

from __future__ import annotations

import datetime as dt
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

#: As long as ``KEEP_ATTEMPTS`` and ``KEEP_MINUTES`` say by default.
ATTEMPT_DAYS = 7
MINUTE_DAYS = 35
#: Minutes that are not in the totals yet: ``ROLLUP_CLOSE_AFTER``, and the current one.
OPEN_MINUTES = 16
#: Deliveries that are not finished: pending, waiting, leased, submitting.
OPEN = {"pending": 2000, "waiting": 500, "leased": 100, "submitting": 64}

Columns = dict[str, str]

_OUTCOMES = (
    "CASE WHEN i % 100 < 92 THEN 'accepted' WHEN i % 100 < 96 THEN 'transient' "
    "WHEN i % 100 < 98 THEN 'permanent' WHEN i % 100 < 99 THEN 'ambiguous' ELSE 'throttled' END"
)
_CHANNEL = "CASE WHEN i % 5 = 0 THEN 'sms' ELSE 'email' END"
_COUNTED = ("accepted", "transient", "permanent", "ambiguous")
_EVENTS = (
    ("admitted", "pipeline"),
    ("finished", "accepted"),
    ("finished", "failed"),
    ("finished", "expired"),
    ("expired_usefully", "no_useful_time_left"),
    ("hint", "published"),
    ("hint", "suppressed"),
    ("receipt", "delivered"),
)


def build(attempts: int) -> None:
    """Store ``attempts`` attempts with their intents and deliveries, open work, minutes and totals.

    Intents that outlived their attempts are left out: nothing that is measured reads closed ones.
    """
    from django.db import connection

    started = time.perf_counter()
    with _in_bulk(connection), connection.cursor() as cursor:
        _finished(connection, attempts)
        _open(connection, attempts)
        _minutes(connection)
        # As the autovacuum would have left it; SQLite has nothing but ANALYZE.
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")
    print(f"  {attempts:,} attempts stored in {time.perf_counter() - started:.0f} s")


@contextmanager
def _in_bulk(connection: Any) -> Iterator[None]:
    """Without foreign keys, which would be queued in memory row by row, and without a limit of time."""
    if connection.vendor == "postgresql":
        before = ["SET session_replication_role = replica", "SET statement_timeout = 0"]
        after = ["RESET session_replication_role", "RESET statement_timeout"]
    else:
        before, after = ["PRAGMA foreign_keys = OFF"], ["PRAGMA foreign_keys = ON"]
    with connection.cursor() as cursor:
        for statement in before:
            cursor.execute(statement)
        yield
        for statement in after:
            cursor.execute(statement)


def _finished(connection: Any, number: int) -> None:
    """One intent with one delivery and one attempt each, evenly over the days that attempts are kept."""
    every = ATTEMPT_DAYS * 86400 / number
    ago = f"({number} - i) * {every:.9f} + 60"
    at, later = _moment(connection, ago), _moment(connection, f"{ago} - 2")
    ends = _moment(connection, f"{ago} - 900")
    rows = (connection, 0, number)
    _insert(*rows, "resetintent", _intent(connection, "'closed'", at, ends, later))
    _insert(
        *rows,
        "delivery",
        {
            **_delivery(connection, at, ends),
            "state": "CASE WHEN i % 100 < 92 THEN 'accepted' ELSE 'failed' END",
            "outcome": _OUTCOMES,
            "finished_at": later,
        },
    )
    _insert(*rows, "attempt", _attempt(connection, at, later))


def _open(connection: Any, first: int) -> None:
    for state, number in OPEN.items():
        at, ends = _moment(connection, "i % 20"), _moment(connection, "-900")
        held = state in {"leased", "submitting"}
        rows = (connection, first, number)
        _insert(*rows, "resetintent", _intent(connection, "'open'", at, ends, "NULL"))
        _insert(
            *rows,
            "delivery",
            {
                **_delivery(connection, at, ends),
                "state": f"'{state}'",
                "finished_at": "NULL",
                "lease_owner": "'worker'" if held else "''",
                "lease_expires_at": _moment(connection, "-30") if held else "NULL",
            },
        )
        first += number


def _intent(connection: Any, state: str, at: str, ends: str, closed: str) -> Columns:
    return {
        "id": "i + 1",
        "reference": _reference(connection),
        "kind": "'reset'",
        "account_ref": "CAST(i AS text)",
        "account_digest": "'d1:0123456789abcdef0123456789abcdef'",
        "strategy": "'all'",
        "template_version": "'1'",
        "locale": "'en'",
        "created_at": at,
        "expires_at": ends,
        "cancel_reason": "''",
        "state": state,
        "closed_at": closed,
        "traceparent": "''",
        "trace_parent_span": "''",
        "scrubbed_at": closed,
    }


def _delivery(connection: Any, at: str, ends: str) -> Columns:
    return {
        "id": "i + 1",
        "reference": _reference(connection),
        "intent_id": "i + 1",
        "channel": _CHANNEL,
        "position": "0",
        "authority": "'pipeline'",
        "claims": "1",
        "attempts": "1",
        "due_at": at,
        "expires_at": ends,
        "lease_owner": "''",
        "lease_token": "1",
        "lease_expires_at": "NULL",
        "outcome": "''",
        "reason": "''",
        "segments_bucket": "''",
        "arm_reason": "''",
        "suppressed": "''",
        "first_hint": "'published'",
    }


def _attempt(connection: Any, at: str, later: str) -> Columns:
    told = "i % 5 = 0 AND i % 100 < 92"
    return {
        "id": "i + 1",
        "delivery_id": "i + 1",
        "number": "1",
        "reference": _reference(connection),
        "token": "1",
        "started_at": at,
        "finished_at": later,
        "outcome": _OUTCOMES,
        "late_outcome": "''",
        "reason": "'ok'",
        "queue_delay_seconds": "(i % 997) / 400.0",
        "remaining_seconds": "890",
        "duration_seconds": "(i % 101) / 100.0",
        "transport": "'main'",
        "worker": "'worker-1'",
        # Scrubbed when their use has ended; the last days' are there.
        "provider_reference": "CASE WHEN i % 7 < 3 THEN 'provider-' || CAST(i AS text) ELSE '' END",
        "receipt": f"CASE WHEN {told} THEN 'delivered' ELSE '' END",
        "receipt_reason": "''",
        "receipt_at": f"CASE WHEN {told} THEN {later} ELSE NULL END",
        "claimed_at": at,
        "lease_used": "0.05",
    }


def _minutes(connection: Any) -> None:
    """One row a minute for each outcome and event of each channel; older ones are in the totals."""
    from resetdelivery.clock import database_now
    from resetdelivery.models import RollupState

    kinds = [(c, o) for c in ("email", "sms") for o in _COUNTED]
    counts = _outcome_counts()
    number = MINUTE_DAYS * 1440 * len(kinds)
    minute = _minute(connection, f"i / {len(kinds)}")
    labels = {"channel": _pick([c for c, _ in kinds]), "outcome": _pick([o for _, o in kinds])}
    labels["template_version"] = "'1'"
    kept = {"minute": minute, "kept": "FALSE" if connection.vendor == "postgresql" else "0"}
    _insert(connection, 0, number, "outcomeminute", {**labels, **counts, **kept})
    _insert(connection, 0, len(kinds), "outcometotal", {**labels, **counts})
    events = [(c, e, label) for c in ("email", "sms") for e, label in _EVENTS]
    number = MINUTE_DAYS * 1440 * len(events)
    kept["minute"] = _minute(connection, f"i / {len(events)}")
    names: Columns = {
        "channel": _pick([c for c, _, _ in events]),
        "event": _pick([e for _, e, _ in events]),
        "label": _pick([label for *_, label in events]),
        "count": "i % 50",
    }
    _insert(connection, 0, number, "eventminute", {**names, **kept})
    _insert(connection, 0, len(events), "eventtotal", {**names, "count": "1000000 + i"})
    now = database_now(connection).replace(second=0, microsecond=0)
    closed_before = now - dt.timedelta(minutes=OPEN_MINUTES - 1)
    RollupState.objects.update_or_create(id=1, defaults={"closed_before": closed_before})


def _outcome_counts() -> Columns:
    from resetdelivery.domain import telemetry

    def counts(bounds: Sequence[object]) -> str:
        return f"'{json.dumps([*range(len(bounds)), 1])}'"

    return {
        "attempts": "100 + i % 50",
        "queue_delay_counts": counts(telemetry.QUEUE_DELAY_SECONDS),
        "queue_delay_seconds": "31.5",
        "duration_counts": counts(telemetry.DURATION_SECONDS),
        "duration_seconds": "17.25",
        "remaining_counts": counts(telemetry.REMAINING_RATIO),
        "remaining_ratio": "97.5",
        "lease_used_counts": counts(telemetry.LEASE_USED_RATIO),
        "lease_used_ratio": "5.5",
        # Each of these has its own bucket, and none lies above them.
        "segments_counts": counts(telemetry.SEGMENT_BUCKETS[1:]),
    }


def _insert(connection: Any, first: int, number: int, table: str, columns: Columns) -> None:
    last = first + number - 1
    series = {
        "postgresql": f"(SELECT CAST(g AS bigint) AS i FROM generate_series({first}, {last}) g)",
        "sqlite": f"(WITH RECURSIVE s(i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM s "
        f"WHERE i < {last}) SELECT i FROM s)",
    }[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO resetdelivery_{table} ({', '.join(columns)}) "
            f"SELECT {', '.join(_typed(connection, name, sql) for name, sql in columns.items())} "
            f"FROM {series} AS numbers"
        )


def _typed(connection: Any, name: str, sql: str) -> str:
    return f"CAST({sql} AS jsonb)" if connection.vendor == "postgresql" and name.endswith("_counts") else sql


def _pick(values: Sequence[str]) -> str:
    cases = " ".join(f"WHEN {number} THEN '{value}'" for number, value in enumerate(values))
    return f"CASE i % {len(values)} {cases} END"


def _reference(connection: Any) -> str:
    hexadecimal = {"postgresql": "lpad(to_hex(i), 32, '0')::uuid", "sqlite": "printf('%032x', i)"}
    return hexadecimal[connection.vendor]


def _moment(connection: Any, seconds_ago: str) -> str:
    """SQL for a moment as many seconds ago as an SQL expression says."""
    return {
        "postgresql": f"now() - ({seconds_ago}) * interval '1 second'",
        "sqlite": f"strftime('%Y-%m-%d %H:%M:%f', 'now', -({seconds_ago}) || ' seconds') || '000'",
    }[connection.vendor]


def _minute(connection: Any, minutes_ago: str) -> str:
    """SQL for the beginning of the minute as many minutes ago as an SQL expression says."""
    return {
        "postgresql": f"date_trunc('minute', now()) - ({minutes_ago}) * interval '1 minute'",
        "sqlite": f"strftime('%Y-%m-%d %H:%M:00', 'now', -({minutes_ago}) || ' minutes')",
    }[connection.vendor]
