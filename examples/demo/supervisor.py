"""Keeps a table of programs running: a program that dies is started again, the rest stays up.

Everything happens in one thread, the main one: programs are tied to it (see `child.start`), and Python
delivers signals to it. The loop sleeps until a signal arrives, a child ends, somebody calls `wake`, or the
next restart is due.
"""

from __future__ import annotations

import contextlib
import dataclasses
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from types import FrameType

from examples.demo import child
from examples.demo.child import Command, StartFailure

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
READY_SECONDS = 60.0
READY_POLL_SECONDS = 0.1
STEADY_SECONDS = 30.0
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 15.0
STOP_SECONDS = 10.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One row of the table.

    `ready` is asked until it says yes; it must not block for long. A `server` is stopped after the others.
    """

    name: str
    command: Command
    ready: Callable[[], bool] = lambda: True
    server: bool = False


class Stopped(Exception):
    """Ctrl-C or SIGTERM arrived while the programs were being started."""


def restart_pause(deaths: int) -> float:
    """Seconds to wait before the next start, after so many deaths in a row (1 or more)."""
    return min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** (deaths - 1))


@dataclasses.dataclass(slots=True, kw_only=True)
class _Running:
    program: Program
    process: subprocess.Popen[bytes]
    started_at: float
    deaths: int = 0
    restart_at: float | None = None


class Supervisor:
    """Starts, watches and stops programs. `report` is given one line per event."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._running: dict[str, _Running] = {}
        self._stop_asked = False
        self._inbound, self._outbound = socket.socketpair()
        for end in (self._inbound, self._outbound):
            end.setblocking(False)

    @contextlib.contextmanager
    def signals(self) -> Iterator[None]:
        """While open, stop signals end `run` and a child's end wakes it."""
        previous = {number: signal.signal(number, self._ask_to_stop) for number in STOP_SIGNALS}
        previous[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        previous_fd = signal.set_wakeup_fd(self._outbound.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(previous_fd)
            for number, handler in previous.items():
                signal.signal(number, handler)

    def wake(self) -> None:
        """Let `run` look at its condition now; callable from any thread."""
        with contextlib.suppress(BlockingIOError):
            self._outbound.send(b"!")

    def start(self, *programs: Program) -> None:
        """Start programs and wait until all are ready.

        Raises StartFailure, with the end of the log, when one ends or is not ready in time; Stopped.
        """
        for program in programs:
            process = child.start(program.command)
            self._running[program.name] = _Running(
                program=program, process=process, started_at=time.monotonic()
            )
        give_up_at = time.monotonic() + READY_SECONDS
        waiting = list(programs)
        while waiting:
            for program in [program for program in waiting if self._is_ready(program, give_up_at)]:
                self._report(f"{program.name} is ready (process {self._running[program.name].process.pid})")
                waiting.remove(program)
            self._sleep(READY_POLL_SECONDS if waiting else 0)
            if self._stop_asked:
                raise Stopped

    def adopt(self, program: Program, process: subprocess.Popen[bytes]) -> None:
        """Watch a program that is running, and ready, already."""
        self._running[program.name] = _Running(program=program, process=process, started_at=time.monotonic())
        self._report(f"{program.name} is ready (process {process.pid})")

    def amend(self, program: Program) -> None:
        """Start a running program differently the next time, with the port that it got, say."""
        self._running[program.name].program = program

    def run(self, finished: Callable[[], bool] = lambda: False) -> None:
        """Watch until a stop signal or until `finished()`, starting again what dies."""
        while not self._stop_asked and not finished():
            now = time.monotonic()
            for running in self._running.values():
                self._look_after(running, now)
            due = [running.restart_at for running in self._running.values() if running.restart_at is not None]
            self._sleep(max(0.0, min(due) - now) if due else None)

    def stop(self) -> None:
        """Stop everything, clients before the servers they use. Closes the supervisor."""
        for servers in (False, True):
            chosen = [running for running in self._running.values() if running.program.server is servers]
            for running in chosen:
                child.ask_to_stop(running.process)
            give_up_at = time.monotonic() + STOP_SECONDS
            for running in chosen:
                child.wait_or_kill(running.process, give_up_at - time.monotonic())
        self._running.clear()
        self._inbound.close()
        self._outbound.close()

    def _is_ready(self, program: Program, give_up_at: float) -> bool:
        code = self._running[program.name].process.poll()
        if code is not None:
            raise StartFailure(
                f"{program.name} ended with exit code {code}:\n{child.tail(program.command.log)}"
            )
        if program.ready():
            return True
        if time.monotonic() > give_up_at:
            log = child.tail(program.command.log)
            raise StartFailure(f"{program.name} was not ready within {READY_SECONDS:.0f} s:\n{log}")
        return False

    def _look_after(self, running: _Running, now: float) -> None:
        if running.restart_at is not None:
            if running.restart_at <= now:
                running.process = child.start(running.program.command)
                running.started_at, running.restart_at = now, None
                self._report(f"{running.program.name} is started again (process {running.process.pid})")
        elif (code := running.process.poll()) is not None:
            child.stop(running.process)  # what it had started itself
            steady = now - running.started_at >= STEADY_SECONDS
            running.deaths = 1 if steady else running.deaths + 1
            pause = restart_pause(running.deaths)
            running.restart_at = now + pause
            self._report(
                f"{running.program.name} ended ({describe_exit(code)}); starting it again in {pause:g} s"
            )

    def _sleep(self, seconds: float | None) -> None:
        select.select([self._inbound], [], [], seconds)
        with contextlib.suppress(BlockingIOError):
            self._inbound.recv(4096)

    def _ask_to_stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stop_asked = True


def describe_exit(code: int) -> str:
    """`exit code 1`, or the signal's name for a process that one ended."""
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name
