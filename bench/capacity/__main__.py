"""The capacity model beside the real thing: ``make bench-capacity``, or ``python -m bench.capacity``.

PostgreSQL, Redis, Celery workers and a mail server on the loopback address, behind a set latency. Costs
come from calibration runs; then several configurations are measured in turn, again and again: how much
they deliver from a backlog, and how long deliveries wait at three fifths of what the model says they
can do, or at what one process admits, where that is less. About six minutes, then it ends; leaves
nothing behind but build/capacity*, and with ``--docs`` the table of docs/capacity.md. Of use only where
nothing else runs.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.boundaries.arrivals import Arrivals
from bench.boundaries.table import put_between_marks
from bench.capacity.calibration import calibrate
from bench.capacity.comparison import Compared, costs_table, source, table
from bench.capacity.measured import Delivered
from bench.capacity.stage import Lineup, Stage, set_up
from examples.demo.programs import ROOT
from resetdelivery.domain.capacity import Costs, System, saturated_rate
from resetdelivery.domain.queue_delay import queue_delay

BUILD = ROOT / "build"
PAGE = ROOT / "docs" / "capacity.md"
#: Of the predicted highest rate, at which delays are measured.
LOAD = 0.6
#: The last one is bound by the processors: its delay is nothing but its own steps.
LINEUPS = (
    Lineup(workers=1, concurrency=2, wave=16, latency=0.4, deviation=0.1),
    Lineup(workers=1, concurrency=4, wave=4, latency=0.3, deviation=0.075),
    Lineup(workers=2, concurrency=2, wave=8, latency=0.4, deviation=0.1),
    # Many threads, which answers this slow keep all busy.
    Lineup(workers=1, concurrency=32, wave=8, latency=1.2, deviation=0.3, claim_limit=8),
    Lineup(workers=1, concurrency=4, wave=16, latency=0.005, deviation=0.00125),
)
MOST_ARRIVALS_PER_SECOND = 40.0
#: With answers that come sooner a delay is a few milliseconds of bookkeeping: no number to compare.
SHORTEST_LATENCY = 0.1
#: A run whose arrivals came later than this was not the one that was planned, and is not counted.
LATE_SECONDS = 0.3
WARM_ROWS = 24
BACKLOG_SECONDS, BACKLOG_ROWS = 5.0, 768

Measured = dict[Lineup, list[tuple[Delivered, Delivered | None]]]


def main() -> None:
    """Measure, compare, and write what was found."""
    options = _options()
    _say("servers, tables and accounts")
    accounts = int(options.seconds * MOST_ARRIVALS_PER_SECOND * 1.5) + 100
    with (
        tempfile.TemporaryDirectory(prefix="resetdelivery-capacity-") as name,
        set_up(Path(name), rows=BACKLOG_ROWS, accounts=accounts) as stage,
    ):
        costs = calibrate(stage, say=_say)
        _say(f"costs\n{costs_table(costs)}")
        found = _rounds(stage, costs, options)
    rows = compared(found, costs)
    text = f"{_surroundings()}\n\n{costs_table(costs)}\n\n{table(rows)}"
    BUILD.mkdir(exist_ok=True)
    BUILD.joinpath("capacity.md").write_text(text)
    BUILD.joinpath("capacity-costs.py").write_text(source(costs))
    (options.costs_to or BUILD / "capacity-costs.json").write_text(json.dumps(dataclasses.asdict(costs)))
    if options.docs:
        PAGE.write_text(put_between_marks(PAGE.read_text(), text))
    sys.stdout.write(f"\n{text}\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=10.0, help="of arrivals in each run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--docs", action="store_true", help="refresh the table of docs/capacity.md")
    parser.add_argument("--costs-to", type=Path, help="where to write the costs for delivery_budget --costs")
    return parser.parse_args()


def system_of(lineup: Lineup, costs: Costs) -> System:
    """The model's view of what is started here: all of it shares this machine's cores."""
    return System(
        workers=lineup.workers,
        concurrency=lineup.concurrency,
        wave=lineup.wave,
        claim_limit=lineup.claim_limit,
        hint_backlog=4,
        fill_after=1.0,
        useful_life=600.0,
        latency=lineup.latency,
        deviation=lineup.deviation,
        costs=costs,
        database_cores=os.cpu_count() or 1,
        shared_cores=os.cpu_count() or 1,
    )


def _rounds(stage: Stage, costs: Costs, options: argparse.Namespace) -> Measured:
    """A, B, C, ... A, B, C, ...: a drift of the machine falls on no configuration alone."""
    found: Measured = {lineup: [] for lineup in LINEUPS}
    for number in range(1, options.rounds + 1):
        for lineup in LINEUPS:
            system = system_of(lineup, costs)
            highest = saturated_rate(system)
            print(f"round {number}/{options.rounds}  {lineup!s:<30}", end="", flush=True)
            with stage.running(lineup) as running:
                running.backlog(WARM_ROWS)
                backlog = running.backlog(_backlog_rows(lineup, highest))
                rate, steady = steady_rate_of(lineup, highest), None
                if rate:
                    steady = running.arrivals(_offsets(rate, number, options))
            found[lineup].append((backlog, steady))
            print(_in_short(backlog, steady), flush=True)
    return found


def steady_rate_of(lineup: Lineup, highest: float) -> float | None:
    """Arrivals per second at which the delay is measured; ``None`` where it is not."""
    if lineup.latency < SHORTEST_LATENCY:
        return None
    return min(LOAD * highest, MOST_ARRIVALS_PER_SECOND)


def _say(what: str) -> None:
    print(what, flush=True)


def _backlog_rows(lineup: Lineup, highest: float) -> int:
    """For some seconds, and as many full batches for each thread."""
    batches = lineup.workers * lineup.concurrency * lineup.claim_limit
    rounds = max(1, round(highest * BACKLOG_SECONDS / batches))
    return min(rounds, BACKLOG_ROWS // batches) * batches


def _offsets(rate: float, number: int, options: argparse.Namespace) -> Sequence[float]:
    seed = options.seed * 100 + number
    return Arrivals(per_second=rate, seconds=options.seconds, seed=seed, warm_up_seconds=0.0).offsets()


def _in_short(backlog: Delivered, steady: Delivered | None) -> str:
    said = f"{backlog.rate():6.0f}/s"
    if steady is not None:
        said += f"  p95 {steady.queue_delay(0.95) * 1000:6.0f} ms"
        said += f"  (an arrival was {steady.behind * 1000:.0f} ms late at most)"
    return said


def compared(found: Measured, costs: Costs) -> list[Compared]:
    """What is predicted for each configuration beside what its runs showed."""
    rows = []
    for lineup, runs in found.items():
        system = system_of(lineup, costs)
        highest = saturated_rate(system)
        rows.append(
            Compared(
                configuration=str(lineup),
                name="deliveries/s",
                predicted=highest,
                measured=[backlog.rate() for backlog, _ in runs],
            )
        )
        rate = steady_rate_of(lineup, highest)
        if rate:
            in_time = [one for _, one in runs if one is not None and one.behind <= LATE_SECONDS]
            rows.append(
                Compared(
                    configuration=str(lineup),
                    name=f"p95 queue delay at {rate:.0f}/s, ms",
                    predicted=queue_delay(system, rate).p95 * 1000,
                    measured=[one.queue_delay(0.95) * 1000 for one in in_time],
                )
            )
    return rows


def _surroundings() -> str:
    return f"{os.cpu_count()} cores, shared by all; PostgreSQL; Python {platform.python_version()}."


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("stopped; nothing was written")
