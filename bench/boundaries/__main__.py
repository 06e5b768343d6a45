"""Inline, poller and broker compared, measured: ``make bench-boundaries``, or ``python -m bench.boundaries``.

The same arrivals through 18 configurations: three boundaries, two databases, and a mail server that is
healthy, slow or dead. About eight minutes; loopback only; leaves nothing behind but build/boundaries.*,
and with ``--docs`` the table and the chart of docs/boundaries.md. Times are those of this machine as it
is: of use only where nothing else runs. Ctrl-C ends everything it started.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from bench.boundaries import chart, table
from bench.boundaries.arrivals import Arrivals
from bench.boundaries.configurations import EVERY, Configuration, Dead, in_turn
from bench.boundaries.measures import Run, rows_of, run_from_json
from bench.boundaries.stage import Stage, set_up
from examples.demo.programs import ROOT

BUILD = ROOT / "build"
RAW = BUILD / "boundaries.json"
PAGE = ROOT / "docs" / "boundaries.md"
PICTURE = ROOT / "docs" / "images" / "boundaries.svg"


def main() -> None:
    """Measure, unless an earlier measurement is only to be drawn again, and write what was found."""
    options = _options()
    if not options.redraw:
        _write_raw(options, _measured(options))
    found = json.loads(RAW.read_text())
    rows = sorted(rows_of(map(run_from_json, found["runs"])), key=lambda row: EVERY.index(row.configuration))
    text, picture = table.page(rows, found["surroundings"]), chart.svg(rows)
    BUILD.joinpath("boundaries.md").write_text(text)
    BUILD.joinpath("boundaries.svg").write_text(picture)
    if options.docs:
        PAGE.write_text(table.put_between_marks(PAGE.read_text(), text))
        PICTURE.write_text(picture)
    sys.stdout.write(f"\n{text}\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=5.0, help="of measured arrivals in each run")
    parser.add_argument("--per-second", type=float, default=15.0, help="arrivals, on average")
    parser.add_argument("--rounds", type=int, default=2, help="at most, through all configurations")
    parser.add_argument("--ceiling", type=float, default=480.0, help="seconds after which no round begins")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dead", type=Dead, default=Dead.REFUSED, choices=list(Dead))
    parser.add_argument("--only", default="", help="configurations whose name holds this, such as 'inline'")
    parser.add_argument("--docs", action="store_true", help="refresh docs/boundaries.md and its picture")
    parser.add_argument("--redraw", action="store_true", help="measure nothing, draw the last run again")
    return parser.parse_args()


def _measured(options: argparse.Namespace) -> list[Run]:
    signal.signal(signal.SIGTERM, _interrupted)
    arrivals = Arrivals(per_second=options.per_second, seconds=options.seconds, seed=options.seed)
    chosen = tuple(one for one in EVERY if options.only in str(one))
    with (
        tempfile.TemporaryDirectory(prefix="resetdelivery-boundaries-") as name,
        set_up(Path(name), arrivals, options.dead) as stage,
    ):
        return list(_rounds(stage, chosen, options))


def _rounds(stage: Stage, chosen: tuple[Configuration, ...], options: argparse.Namespace) -> Iterator[Run]:
    began = time.monotonic()
    for number in range(1, options.rounds + 1):
        for place, one in enumerate(in_turn(chosen, round_number=number, seed=options.seed), 1):
            where = f"round {number}/{options.rounds}, {place}/{len(chosen)}"
            print(f"{where:<18} {one!s:<28}", end="", flush=True)
            run = stage.run(one)
            print(table.in_short(rows_of([run])[0]), flush=True)
            yield run
        spent = time.monotonic() - began
        if number < options.rounds and spent * (number + 1) / number > options.ceiling:
            print(f"no further round: {spent:.0f} s are gone, and the ceiling is {options.ceiling:.0f} s")
            return


def _write_raw(options: argparse.Namespace, runs: list[Run]) -> None:
    surroundings: dict[str, Any] = {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "system": platform.system(),
        "per_second": options.per_second,
        "seconds": options.seconds,
        "seed": options.seed,
        "dead": options.dead,
    }
    BUILD.mkdir(exist_ok=True)
    found = {"surroundings": surroundings, "runs": [dataclasses.asdict(run) for run in runs]}
    RAW.write_text(json.dumps(found))


def _interrupted(*_: object) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("stopped; nothing was written")
