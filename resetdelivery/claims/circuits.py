"""The circuits of a channel's providers, as the lease protocol sees them.

Locked after the intents and before the channel's control row. Read without a lock wherever
nothing is wrong: a healthy submission takes no lock here and writes nothing.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from notifications.channels import Channel
from resetdelivery.claims.sql import CIRCUIT, lock_sql
from resetdelivery.clock import after_sql, as_datetime, now_sql
from resetdelivery.domain.circuit import Circuit, Report, Signal, after, signal_of
from resetdelivery.domain.failover import Circuits, Lineup
from resetdelivery.logs import get_logger

log = get_logger("resetdelivery.circuits")


def read(cursor: CursorWrapper, channel: Channel, lock: str = "") -> dict[str, Circuit]:
    """The circuits that are on record, by provider; what is not on record is closed."""
    cursor.execute(
        f"SELECT provider, outages, open_until, reason FROM {CIRCUIT} WHERE channel = %s "
        f"ORDER BY provider {lock}",
        [channel.value],
    )
    return {row[0]: _circuit(row) for row in cursor.fetchall()}


def _circuit(row: Sequence[Any]) -> Circuit:
    return Circuit(outages=row[1], open_until=None if row[2] is None else as_datetime(row[2]), reason=row[3])


def begin_probe(
    connection: BaseDatabaseWrapper, channel: Channel, provider: str, probe_seconds: float
) -> bool:
    """Whether the probe of ``provider`` is ours: its pause goes on for the others meanwhile.

    If we die, the next probe is due after ``probe_seconds``.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {CIRCUIT} SET open_until = {after_sql(connection)} "
            f"WHERE channel = %s AND provider = %s AND open_until <= {now_sql(connection)}",
            [probe_seconds, channel.value, provider],
        )
        return bool(cursor.rowcount)


def return_probe(connection: BaseDatabaseWrapper, channel: Channel, provider: str) -> None:
    """Let somebody else probe at once: ours was not sent after all."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {CIRCUIT} SET open_until = {now_sql(connection)} "
            "WHERE channel = %s AND provider = %s AND open_until IS NOT NULL",
            [channel.value, provider],
        )


def learn(
    connection: BaseDatabaseWrapper,
    cursor: CursorWrapper,
    channel: Channel,
    reports: Mapping[str, Sequence[Report]],
    lineup: Lineup,
    now: dt.datetime,
) -> Circuits:
    """Every circuit after the wave's ``reports``; written where it changed."""
    known = read(cursor, channel)
    news = {name: found for name, found in reports.items() if _concerns(known.get(name), found)}
    if not news:
        return known
    _ensure_rows(cursor, channel, sorted(news))
    known = read(cursor, channel, lock_sql(connection, "update"))
    alone = len(lineup.order) == 1
    changed = {
        name: circuit
        for name, found in news.items()
        if (circuit := after(known[name], found, lineup.policy, now=now, alone=alone)) != known[name]
    }
    for name, circuit in changed.items():
        _write(connection, cursor, channel, name, circuit, now)
        _tell(channel, name, known[name], circuit, now)
    return {**known, **changed}


def _concerns(circuit: Circuit | None, reports: Sequence[Report]) -> bool:
    """Whether the reports may change anything: a closed circuit without outages hears no praise."""
    spotless = circuit is None or circuit == Circuit()
    return not spotless or any(
        signal_of(report.outcome) not in {Signal.ANSWERED, Signal.NOTHING} for report in reports
    )


def _ensure_rows(cursor: CursorWrapper, channel: Channel, providers: Sequence[str]) -> None:
    rows = ", ".join(["(%s, %s, 0, NULL, NULL, '')"] * len(providers))
    cursor.execute(
        f"INSERT INTO {CIRCUIT} (channel, provider, outages, open_until, opened_at, reason) "
        f"VALUES {rows} ON CONFLICT (channel, provider) DO NOTHING",
        [value for provider in providers for value in (channel.value, provider)],
    )


def _write(
    connection: BaseDatabaseWrapper,
    cursor: CursorWrapper,
    channel: Channel,
    provider: str,
    circuit: Circuit,
    now: dt.datetime,
) -> None:
    """Store a changed circuit; ``opened_at`` stays that of its first opening in a row."""
    moment = connection.ops.adapt_datetimefield_value
    opened = "NULL" if circuit.is_closed else "COALESCE(opened_at, %s)"
    cursor.execute(
        f"UPDATE {CIRCUIT} SET outages = %s, reason = %s, open_until = %s, opened_at = {opened} "
        "WHERE channel = %s AND provider = %s",
        [
            circuit.outages,
            circuit.reason,
            None if circuit.open_until is None else moment(circuit.open_until),
            *([] if circuit.is_closed else [moment(now)]),
            channel.value,
            provider,
        ],
    )


def _tell(channel: Channel, provider: str, before: Circuit, circuit: Circuit, now: dt.datetime) -> None:
    """A line for on-call where a circuit opens, stays open after a probe, or closes."""
    if circuit.open_until is not None:
        log.error(
            "provider_out",
            channel=channel.value,
            provider=provider,
            reason=circuit.reason,
            outages=circuit.outages,
            pause_seconds=round((circuit.open_until - now).total_seconds(), 3),
        )
    elif not before.is_closed:
        log.warning("provider_back", channel=channel.value, provider=provider)
