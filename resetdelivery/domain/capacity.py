"""How much the workers deliver, what each resource has to do for it, and what gives way first. Pure.

The system: ``workers`` processes with ``concurrency`` threads each, called lanes here. A lane that
takes a hint claims a batch, goes through it in waves (marked, submitted at once, settled), and claims
again while batches come back full. Times are seconds, rates per second. How long a delivery waits is
:mod:`resetdelivery.domain.queue_delay`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass

from resetdelivery.domain.queueing import Station, rounds_per_second, slowest_of

#: Threads that one process has for submissions (``resetdelivery.delivery``).
SEND_THREADS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Seconds of a worker process's one interpreter, of a database core, and of waiting for neither."""

    worker: float = 0.0
    database: float = 0.0
    waiting: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            worker=self.worker + other.worker,
            database=self.database + other.database,
            waiting=self.waiting + other.waiting,
        )

    def times(self, number: float) -> Cost:
        """This cost ``number`` times over."""
        return Cost(
            worker=self.worker * number, database=self.database * number, waiting=self.waiting * number
        )

    @property
    def seconds(self) -> float:
        """Wall time where nothing else runs."""
        return self.worker + self.database + self.waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What the steps cost on a machine: ``python -m bench.capacity`` measures them.

    ``hint`` is Celery's part of one message, ``claim`` and ``wave`` what is paid once for each whatever
    its size, ``row`` what each delivery adds. ``admission``: its ``worker`` is a web process. ``pickup``
    is from an admission's commit until a free worker holds the hint, ``surroundings`` what broker and
    provider need of the same cores for one delivery, where they share them.
    """

    hint: Cost
    claim: Cost
    wave: Cost
    row: Cost
    admission: Cost
    pickup: float
    surroundings: float = 0.0

    def batch(self, rows: float, waves: float) -> Cost:
        """One hint's batch."""
        return self.hint + self.full_batch(rows, waves)

    def full_batch(self, rows: float, waves: float) -> Cost:
        """One more batch of a task that goes on: no hint was needed for it."""
        return self.claim + self.wave.times(waves) + self.row.times(rows)


#: What ``USUAL_COSTS`` are; printed with every answer that uses them. To be changed together with them.
USUAL_ORIGIN = "measured on two cores with PostgreSQL (docs/capacity.md); measure your own"
#: Python 3.11 and a durable PostgreSQL beside each other. ``make bench-capacity`` writes what it measured to
#: build/capacity-costs.py in this form.
USUAL_COSTS = Costs(
    hint=Cost(worker=0.00509, database=0.00000, waiting=0.00000),
    claim=Cost(worker=0.00238, database=0.00117, waiting=0.00040),
    wave=Cost(worker=0.00198, database=0.00307, waiting=0.00086),
    row=Cost(worker=0.00089, database=0.00013, waiting=0.00000),
    admission=Cost(worker=0.01370, database=0.00429, waiting=0.00000),
    pickup=0.00857,
    surroundings=0.00021,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """What is asked about. ``latency`` and ``deviation`` are the provider's, per message.

    ``database_cores`` are the database's own. ``shared_cores``: all processes together have no more
    than that; nothing where each has what it needs.
    """

    workers: int
    concurrency: int
    wave: int
    claim_limit: int
    hint_backlog: int
    fill_after: float
    useful_life: float
    latency: float
    deviation: float
    costs: Costs
    database_cores: int = 2
    shared_cores: int | None = None

    @property
    def lanes(self) -> int:
        """Threads that deliver, in all processes."""
        return self.workers * self.concurrency

    @property
    def width(self) -> int:
        """How many of a wave are submitted at once: a process has ``SEND_THREADS`` for all its lanes."""
        return max(1, min(self.wave, SEND_THREADS // self.concurrency))

    def wave_latency(self, rows: float) -> float:
        """From the first submission of a wave until its slowest answer."""
        together = max(1, min(self.width, math.ceil(rows)))
        rounds = max(1, math.ceil(min(self.wave, rows) / self.width))
        return rounds * slowest_of(together, self.latency, self.deviation)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A resource, and how many deliveries a second it lets through."""

    name: str
    rate: float
    mend: str


def saturated_rate(system: System) -> float:
    """Deliveries per second while there is always a backlog: batches are full, hints are few."""
    rows = system.claim_limit
    waves = math.ceil(rows / system.wave)
    cost = system.costs.full_batch(rows, waves)
    think = cost.waiting + sum(system.wave_latency(size) for size in _sizes(rows, system.wave))
    stations = [
        Station(demand=cost.worker, copies=system.workers),
        Station(demand=cost.database, servers=system.database_cores),
    ]
    rate = rows * rounds_per_second(system.lanes, stations, think)
    return min([rate, *(one.rate for one in _machine(system))])


def highest_rate(system: System) -> float:
    """Deliveries per second that can go on for good: those that arrive meanwhile cost the database, too."""
    return min([saturated_rate(system), *(one.rate for one in limits(system))])


def limits(system: System) -> tuple[Limit, ...]:
    """Every resource's own bound, the one that gives way first at the front."""
    rows = system.claim_limit
    waves = math.ceil(rows / system.wave)
    cost = system.costs.full_batch(rows, waves)
    alone = cost.seconds + sum(system.wave_latency(size) for size in _sizes(rows, system.wave))
    database = cost.database / rows + system.costs.admission.database
    found = [
        Limit(
            name="lanes",
            rate=_over(system.lanes * rows, alone),
            mend="more workers, a higher concurrency, or wider waves",
        ),
        Limit(
            name="worker CPU", rate=_over(system.workers * rows, cost.worker), mend="more worker processes"
        ),
        Limit(
            name="database CPU",
            rate=_over(system.database_cores, database),
            mend="more database cores, wider waves; then a database per channel or per tenant",
        ),
        *_machine(system),
    ]
    return tuple(sorted(found, key=lambda one: one.rate))


def _machine(system: System) -> list[Limit]:
    if system.shared_cores is None:
        return []
    rows = system.claim_limit
    cost = system.costs.full_batch(rows, math.ceil(rows / system.wave)).times(1 / rows)
    each = cost.worker + cost.database + system.costs.surroundings
    return [Limit(name="this machine", rate=_over(system.shared_cores, each), mend="more machines")]


def _over(number: float, each: float) -> float:
    return number / each if each else math.inf


def _sizes(rows: int, wave: int) -> list[int]:
    return [min(wave, rows - begun) for begun in range(0, rows, wave)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """How deliveries are grouped at some rate: batches per second, and waves per batch."""

    arrivals: float
    batches: float
    waves: float

    @property
    def rows(self) -> float:
        """Deliveries per batch."""
        return self.arrivals / self.batches if self.batches else 1.0


def utilisation(system: System, flow: Flow) -> Mapping[str, float]:
    """How busy each resource is (the utilisation law: rate times demand).

    Lanes are busy long before they are at their end: batches are small then, and can grow.
    """
    cost = system.costs.batch(flow.rows, flow.waves)
    of_batch = flow.waves * system.wave_latency(flow.rows / flow.waves)
    database = flow.batches * cost.database + flow.arrivals * system.costs.admission.database
    return {
        "lanes": flow.batches * (cost.seconds + of_batch) / system.lanes,
        "worker CPU": flow.batches * cost.worker / system.workers,
        "database CPU": database / system.database_cores,
    }


def changed(system: System, **values: float) -> System:
    """``system`` with some values changed."""
    return dataclasses.replace(system, **values)  # type: ignore[arg-type]
