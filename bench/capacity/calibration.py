"""What the steps cost on this machine, from runs of their own: none of them is compared with the model."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bench.capacity.measured import Delivered
from bench.capacity.stage import Lineup, Running, Stage
from resetdelivery.domain.capacity import Cost, Costs

ROWS, SINGLE, LIGHT = 576, 288, 60
LIGHT_EVERY_SECONDS = 0.1
_ROLES = ("worker", "database", "waiting")


@dataclass(frozen=True, slots=True, kw_only=True)
class PerRow:
    """One calibration run: what a delivery took, and how many claims and waves went with it."""

    claims: float
    waves: float
    cost: Cost
    surroundings: float = 0.0


def calibrate(stage: Stage, *, say: Callable[[str], None]) -> Costs:
    """Costs from one thread with a mail server that answers at once, in batches of three shapes."""
    say("calibration 1/3: full batches, and deliveries that come alone")
    with stage.running(Lineup(workers=1, concurrency=1, wave=16, latency=0.0)) as running:
        running.backlog(SINGLE)
        full = per_row(running.backlog(ROWS), claims=1 / 48, waves=1 / 16)
        light = running.arrivals([n * LIGHT_EVERY_SECONDS for n in range(LIGHT)])
    say("calibration 2/3: waves of one")
    with stage.running(Lineup(workers=1, concurrency=1, wave=1, latency=0.0)) as running:
        narrow = per_row(_warm(running).backlog(SINGLE), claims=1 / 48, waves=1.0)
    say("calibration 3/3: batches of one")
    with stage.running(Lineup(workers=1, concurrency=1, wave=1, latency=0.0, claim_limit=1)) as running:
        single = per_row(_warm(running).backlog(SINGLE), claims=1.0, waves=1.0)
    return costs_from(full, narrow, single, light)


def _warm(running: Running) -> Running:
    running.backlog(48)
    return running


def per_row(run: Delivered, *, claims: float, waves: float) -> PerRow:
    """A run's seconds by delivery; ``waiting`` is what is neither the worker's nor the database's."""
    number = len(run.due)
    roles = by_role(run.cpu)
    worker, database = roles["worker"] / number, roles["database"] / number
    waiting = max(0.0, run.seconds() / number - worker - database)
    cost = Cost(worker=worker, database=database, waiting=waiting)
    return PerRow(claims=claims, waves=waves, cost=cost, surroundings=roles["surroundings"] / number)


def by_role(cpu: Mapping[str, float]) -> dict[str, float]:
    """Processor seconds of the workers, of the database, of who admits, and of broker and mail server."""
    worker = sum(seconds for role, seconds in cpu.items() if role.startswith("worker"))
    known = {"worker": worker, "database": cpu.get("postgresql", 0.0), "admission": cpu.get("admission", 0.0)}
    return {**known, "surroundings": sum(cpu.values()) - sum(known.values())}


def costs_from(full: PerRow, narrow: PerRow, single: PerRow, light: Delivered) -> Costs:
    """Three runs and three unknowns: row, wave and claim; then the hint from ``light``.

    In ``light`` each delivery came alone, with a hint of its own.
    """
    claim, wave, row = {}, {}, {}
    for role in _ROLES:
        one, many, most = (getattr(run.cost, role) for run in (single, narrow, full))
        claim[role] = max(0.0, (one - many) / (single.claims - narrow.claims))
        wave[role] = max(0.0, (many - most) / (narrow.waves - full.waves))
        row[role] = max(0.0, most - full.waves * wave[role] - full.claims * claim[role])
    found = Costs(
        hint=Cost(),
        claim=Cost(**claim),
        wave=Cost(**wave),
        row=Cost(**row),
        admission=Cost(),
        pickup=0.0,
        surroundings=full.surroundings,
    )
    alone = found.full_batch(1, 1)
    number = len(light.due)
    roles = by_role(light.cpu)
    hint = Cost(worker=max(0.0, roles["worker"] / number - alone.worker))
    before = hint.seconds + found.claim.seconds + found.wave.seconds / 2
    return dataclasses.replace(
        found,
        hint=hint,
        admission=Cost(
            worker=roles["admission"] / number,
            database=max(0.0, roles["database"] / number - alone.database),
        ),
        pickup=max(0.0, light.queue_delay(0.5) - before),
    )
