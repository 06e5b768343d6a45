"""What is compared with what, in which order, and what each needs to be kept running. Pure."""

from __future__ import annotations

import enum
import itertools
import random
from dataclasses import dataclass

from examples.demo.programs import SERVER_WORKERS, SQLITE_WORKERS


class Boundary(enum.StrEnum):
    """The values of ``RESETDELIVERY["DISPATCH"]``, fewest processes first."""

    INLINE = "inline"
    DATABASE = "database"
    BROKER = "broker"


class Database(enum.StrEnum):
    """Where the rows are."""

    SQLITE = "SQLite"
    POSTGRESQL = "PostgreSQL"


class Health(enum.StrEnum):
    """How the mail server does: it answers in 5 ms, in 500 ms, or not at all."""

    HEALTHY = "healthy"
    SLOW = "slow"
    DEAD = "dead"


class Dead(enum.StrEnum):
    """How a server is dead: connections are refused at once, or taken and never answered."""

    REFUSED = "refused"
    SILENT = "silent"


#: Of the mail server, from the final dot to its answer.
ANSWER_SECONDS = {Health.HEALTHY: 0.005, Health.SLOW: 0.5}


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One cell of the comparison."""

    boundary: Boundary
    database: Database
    health: Health

    def __str__(self) -> str:
        return f"{self.boundary} {self.database} {self.health}"


EVERY = tuple(
    Configuration(boundary=boundary, database=database, health=health)
    for health, boundary, database in itertools.product(Health, Boundary, Database)
)


def in_turn(chosen: tuple[Configuration, ...], *, round_number: int, seed: int) -> tuple[Configuration, ...]:
    """One round in an order of its own, so that a drift of the machine falls on no boundary alone."""
    return tuple(random.Random(f"{seed} {round_number}").sample(chosen, len(chosen)))


def workers(database: Database) -> dict[str, tuple[str, int]]:
    """Celery workers for email: their queues and threads, as the demo runs them."""
    table = SQLITE_WORKERS if database is Database.SQLITE else SERVER_WORKERS
    return {f"worker-{name}": row for name, row in table.items() if name != "sms"}


def processes(boundary: Boundary, database: Database) -> tuple[str, ...]:
    """What has to run, and be looked after, for email alone: a pool or a server counts once."""
    beside = {
        Boundary.INLINE: (),
        Boundary.DATABASE: ("poller",),
        Boundary.BROKER: ("redis", *workers(database), "beat"),
    }[boundary]
    server = ("postgresql",) if database is Database.POSTGRESQL else ()
    return ("web", *beside, *server)
