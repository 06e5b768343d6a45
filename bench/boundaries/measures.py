"""What one run shows, and what several runs of one configuration show together. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.boundaries.configurations import Boundary, Configuration, Database, Health
from bench.surroundings import p50_p99

#: Processor time of it belongs to the provider, and to nobody's bill here.
SINK = "sink"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call of ``request_reset``; moments are seconds of the machine's monotonic clock.

    ``offset`` is from the first arrival's second, ``due`` when it arrived, ``committed`` when its rows
    were (``None``: they never were), ``ended`` when the answer could leave, ``error`` the class of what
    was raised.
    """

    recipient: str
    offset: float
    due: float
    committed: float | None
    ended: float
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of one configuration; times in seconds.

    ``request_seconds`` are from arrival to answer, ``accepted_seconds`` from commit to the mail server's
    acceptance. ``stored`` resets were committed after the warm-up; ``expired`` of them were never
    accepted, and ``left_open`` were past help and still open at the end. ``duplicates`` are acceptances
    beyond the first. ``delivered_for`` is how many resets ``cpu_seconds`` were spent on, warm-up included.
    """

    configuration: Configuration
    request_seconds: Sequence[float]
    accepted_seconds: Sequence[float]
    stored: int
    expired: int
    duplicates: int
    left_open: int
    errors: Mapping[str, int]
    outcomes: Mapping[str, int]
    delivered_for: int
    cpu_seconds: Mapping[str, float]


def run_of(
    configuration: Configuration,
    requests: Sequence[Request],
    acceptances: Mapping[str, Sequence[float]],
    *,
    warm_up_seconds: float,
    left_open: Collection[str],
    outcomes: Mapping[str, int],
    cpu_seconds: Mapping[str, float],
) -> Run:
    """Put together what the web process, the mail server and /proc saw of one run.

    ``left_open`` are the recipients of rows that were open at the end, warm-up included.
    """
    measured = [one for one in requests if one.offset >= warm_up_seconds]
    stored = [one for one in measured if one.committed is not None]
    taken = [(one, acceptances[one.recipient]) for one in stored if one.recipient in acceptances]
    return Run(
        configuration=configuration,
        request_seconds=[one.ended - one.due for one in measured],
        accepted_seconds=[min(moments) - (one.committed or 0.0) for one, moments in taken],
        stored=len(stored),
        expired=len(stored) - len(taken),
        duplicates=sum(len(moments) - 1 for moments in acceptances.values()),
        left_open=sum(one.recipient in left_open for one in stored),
        errors=dict(Counter(one.error for one in measured if one.error)),
        outcomes=dict(outcomes),
        delivered_for=sum(one.committed is not None for one in requests),
        cpu_seconds=dict(cpu_seconds),
    )


def run_from_json(value: Mapping[str, Any]) -> Run:
    """A run as ``dataclasses.asdict`` and JSON left it."""
    names = value["configuration"]
    configuration = Configuration(
        boundary=Boundary(names["boundary"]),
        database=Database(names["database"]),
        health=Health(names["health"]),
    )
    return Run(**{**value, "configuration": configuration})


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """All runs of one configuration together; percentiles in milliseconds, shares from 0 to 1.

    ``accepted`` is ``None`` where nothing was accepted, ``cpu_ms`` (per reset, by role, without the mail
    server's) is empty where it could not be read.
    """

    configuration: Configuration
    runs: int
    requests: int
    request: tuple[float, float]
    accepted: tuple[float, float] | None
    expired: float
    duplicates: int
    cpu_ms: Mapping[str, float]
    failed: str


def rows_of(runs: Iterable[Run]) -> list[Row]:
    """A row for each configuration, in the order in which it was first measured."""
    by_configuration: dict[Configuration, list[Run]] = {}
    for run in runs:
        by_configuration.setdefault(run.configuration, []).append(run)
    return [_row(configuration, some) for configuration, some in by_configuration.items()]


def _row(configuration: Configuration, runs: Sequence[Run]) -> Row:
    accepted = [seconds for run in runs for seconds in run.accepted_seconds]
    request = [seconds for run in runs for seconds in run.request_seconds]
    stored = sum(run.stored for run in runs)
    return Row(
        configuration=configuration,
        runs=len(runs),
        requests=len(request),
        request=p50_p99(request),
        accepted=p50_p99(accepted) if accepted else None,
        expired=sum(run.expired for run in runs) / stored if stored else 0.0,
        duplicates=sum(run.duplicates for run in runs),
        cpu_ms=_cpu_ms(runs),
        failed=_failed(runs),
    )


def _cpu_ms(runs: Sequence[Run]) -> dict[str, float]:
    delivered_for = sum(run.delivered_for for run in runs)
    total: Counter[str] = Counter()
    for run in runs:
        total.update({role: s for role, s in run.cpu_seconds.items() if role != SINK})
    return {role: 1000 * seconds / delivered_for for role, seconds in total.items()} if delivered_for else {}


def _failed(runs: Sequence[Run]) -> str:
    """What went wrong besides expiring, in words; empty where nothing did."""
    errors: Counter[str] = Counter()
    for run in runs:
        errors.update(run.errors)
    parts = [f"{number} requests raised {name}" for name, number in sorted(errors.items())]
    ambiguous = sum(run.outcomes.get("ambiguous", 0) for run in runs)
    parts += [f"{ambiguous} attempts ambiguous"] if ambiguous else []
    left_open = sum(run.left_open for run in runs)
    parts += [f"{left_open} left open"] if left_open else []
    return ", ".join(parts)
