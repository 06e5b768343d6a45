"""`python -m examples.demo`: everything up until Ctrl-C; with `--once`, one reset and then the end."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading

from examples.demo import child, demo, once, tether
from examples.demo.browser import PageFailure
from examples.demo.child import StartFailure
from examples.demo.demo import Demo
from examples.demo.once import ResetFailure
from examples.demo.supervisor import Stopped, Supervisor

PATIENCE_SECONDS = 30.0


def main(arguments: list[str] | None = None) -> int:
    """Run the demo. 0: stopped by a person, or the one reset went all the way; 1: it failed, and why."""
    options = _parser().parse_args(arguments)
    end_with_make()
    supervisor = Supervisor(report)
    print("Starting the demo", flush=True)
    try:
        with (
            supervisor.signals(),
            demo.running(supervisor, report, dict(os.environ), tuple(options.without)) as up,
        ):
            print(block(up), flush=True)
            if options.once:
                reset_once(supervisor, up, options.patience)
            else:
                supervisor.run()
            report("stopping")
    except Stopped:
        report("stopped")
        return int(options.once)
    except (StartFailure, ResetFailure, PageFailure) as failure:
        print(f"The demo failed. {failure}", file=sys.stderr)
        return 1
    return 0


def end_with_make() -> None:
    """Under `make`, stop when it is gone, however it went: its Ctrl-C is ours anyway, a kill -9 is not."""
    if "MAKELEVEL" in os.environ and sys.platform == "linux":
        tether.die_with_parent(os.getppid(), signal.SIGTERM)


def report(line: str) -> None:
    """Print one line of progress."""
    print(f"  {line}", flush=True)


def block(up: Demo) -> str:
    """What a person needs to know about a demo that is up."""
    pages = {
        "Shop": up.addresses.web,
        "Forgot password": up.addresses.web + "/accounts/forgot/",
        "Inbox (email, SMS)": up.addresses.inbox,
        "Admin": up.addresses.web + "/admin/",
        "Flower": up.addresses.flower,
        "Logs": str(up.place.folder),
    }
    rows = [f"  {name:<20}{address}" for name, address in pages.items()]
    accounts = [f"  {line}".rstrip() for line in up.accounts.strip().splitlines()]
    return "\n".join(["", *rows, "", *accounts, "", "  Ctrl-C stops everything.", ""])


def reset_once(supervisor: Supervisor, up: Demo, patience: float) -> None:
    """Do one reset while the programs are watched. Raises what ended it, with the ends of the logs."""
    failures: list[Exception] = []
    done = threading.Event()

    def work() -> None:
        try:
            once.reset(up, patience, report)
        except Exception as failure:
            failures.append(failure)
        finally:
            done.set()
            supervisor.wake()

    threading.Thread(target=work, daemon=True).start()
    supervisor.run(done.is_set)
    if not done.is_set():
        raise Stopped
    if failures:
        raise ResetFailure(f"{failures[0]}\n{_ends_of_logs(up)}") from failures[0]
    print(up.manage("explain", "--latest"), flush=True)


def _ends_of_logs(up: Demo) -> str:
    logs = [*sorted(up.place.folder.glob("worker-*.log")), up.place.folder / "web.log"]
    return "\n".join(f"  {log.stem}:\n{child.tail(log, lines=10)}" for log in logs if log.exists())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m examples.demo", description=__doc__)
    parser.add_argument("--once", action="store_true", help="one reset through the pages, then stop")
    parser.add_argument(
        "--patience", type=float, default=PATIENCE_SECONDS, help="seconds to wait for messages"
    )
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="NAME",
        help="leave out programs named so (worker, beat, …)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
