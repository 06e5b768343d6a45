"""What a rate of deliveries asks of broker, database and provider, and where one of each gives way. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from resetdelivery.domain.capacity import Flow, Limit, System, changed, saturated_rate
from resetdelivery.domain.queue_delay import is_kept

#: Commands and bytes on the wire to Redis: to look how long the queue is, and of a hint that is
#: published, fetched and acknowledged (Celery 5.6 with events).
ADMISSION_COMMANDS, HINT_COMMANDS = 6, 13
ADMISSION_BYTES, HINT_BYTES = 300, 5800
#: Statements with BEGIN and COMMIT on PostgreSQL, and transactions that write. Tests count them.
ADMISSION_STATEMENTS, BATCH_STATEMENTS, WAVE_STATEMENTS = 25, 7, 17
ADMISSION_TRANSACTIONS, BATCH_TRANSACTIONS, WAVE_TRANSACTIONS = 1, 1, 2
#: Row versions: intent, delivery, idempotency key and two uses of limits; then claim, mark with its
#: attempt, settle with its attempt, and the intent's end.
ADMISSION_ROWS, DELIVERY_ROWS = 5, 6
#: One Redis has one thread for commands; its own documentation measures about as many without pipelines.
REDIS_COMMANDS_PER_SECOND = 80_000
#: PostgreSQL's own default for ``max_connections``.
DATABASE_CONNECTIONS = 100
#: More processes than anybody runs for one channel.
MOST_WORKERS = 4096
#: About the largest server that is easily had.
LARGE_DATABASE_CORES = 32
#: What a database's cores may be busy with, so that there is room for bursts and for the vacuum.
DATABASE_BUSY = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Per second, but for ``connections`` to the database and ``submissions``, which are open at once.

    ``web_cores`` are what admissions keep busy in web processes.
    """

    hints: float
    broker_commands: float
    broker_bytes: float
    transactions: float
    statements: float
    rows_written: float
    connections: int
    submissions: float
    web_cores: float


def load(system: System, flow: Flow) -> Load:
    """What ``flow`` makes of work for others; connections are those of the workers alone."""
    waves = flow.batches * flow.waves
    wave_seconds = system.wave_latency(flow.rows / flow.waves)
    return Load(
        hints=flow.batches,
        broker_commands=flow.arrivals * ADMISSION_COMMANDS + flow.batches * HINT_COMMANDS,
        broker_bytes=flow.arrivals * ADMISSION_BYTES + flow.batches * HINT_BYTES,
        transactions=flow.arrivals * ADMISSION_TRANSACTIONS
        + flow.batches * BATCH_TRANSACTIONS
        + waves * WAVE_TRANSACTIONS,
        statements=flow.arrivals * ADMISSION_STATEMENTS
        + flow.batches * BATCH_STATEMENTS
        + waves * WAVE_STATEMENTS,
        rows_written=flow.arrivals * (ADMISSION_ROWS + DELIVERY_ROWS),
        connections=system.lanes,
        # Little's law; a wave's connections are kept until its slowest answer.
        submissions=flow.arrivals * wave_seconds,
        web_cores=flow.arrivals * system.costs.admission.worker,
    )


def database_cores_for(system: System, arrivals: float) -> int:
    """Cores that ``arrivals`` keep busy to ``DATABASE_BUSY``, batches being as small as they get."""
    costs = system.costs
    each = costs.admission.database + costs.row.database
    batches = min(arrivals, system.lanes / max(system.latency, costs.batch(1, 1).seconds))
    work = arrivals * each + batches * (costs.claim.database + costs.wave.database)
    return max(1, math.ceil(work / DATABASE_BUSY))


def scale_limits(system: System) -> tuple[Limit, ...]:
    """One database, one broker, however many workers: what gives way first at the front."""
    rows, costs = system.claim_limit, system.costs
    waves = math.ceil(rows / system.wave)
    database = costs.full_batch(rows, waves).database / rows + costs.admission.database
    threads = min(system.concurrency, DATABASE_CONNECTIONS)
    one_worker = saturated_rate(changed(system, workers=1, concurrency=threads))
    found = (
        Limit(
            name=f"{DATABASE_CONNECTIONS} database connections",
            rate=one_worker * (DATABASE_CONNECTIONS // threads),
            mend="raise max_connections; fewer threads with wider waves",
        ),
        Limit(
            name=f"one database of {LARGE_DATABASE_CORES} cores",
            rate=LARGE_DATABASE_CORES * DATABASE_BUSY / database,
            mend="a database per channel, then per tenant or by account: nothing joins across them",
        ),
        Limit(
            name="one Redis",
            rate=REDIS_COMMANDS_PER_SECOND / (ADMISSION_COMMANDS + HINT_COMMANDS / rows),
            mend="a broker per channel",
        ),
    )
    return tuple(sorted(found, key=lambda one: one.rate))


def workers_for(
    system: System, arrivals: float, p95_seconds: float, *, most: int = MOST_WORKERS
) -> int | None:
    """The fewest worker processes that keep the p95 delay; ``None`` where ``most`` are too few.

    Looked for by halves: more workers are never slower.
    """

    def is_enough(workers: int) -> bool:
        trial = changed(system, workers=workers)
        cores = max(system.database_cores, database_cores_for(trial, arrivals))
        return is_kept(changed(trial, database_cores=cores), arrivals, p95_seconds)

    low, high = 0, 1
    while not is_enough(high):
        low, high = high, high * 2
        if high > most:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
