"""Child processes that end with this one: started through the tether, stopped politely, then not."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

TETHER = Path(__file__).with_name("tether.py")
TAIL_LINES = 25


class StartFailure(Exception):
    """A program of the demo did not start, or did not become ready."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What to run and how.

    `environment` is the whole environment, not an addition. `input` is written to standard input, which is
    closed then. `descriptors` are open files that the command inherits under the same numbers. `owner` is
    the (uid, gid) to run as, for callers that are root. `death_signal` is sent when this process is gone.
    """

    arguments: tuple[str, ...]
    environment: Mapping[str, str] = dataclasses.field(repr=False)
    log: Path
    folder: Path
    input: bytes = dataclasses.field(default=b"", repr=False)
    descriptors: tuple[int, ...] = ()
    owner: tuple[int, int] | None = None
    death_signal: signal.Signals = signal.SIGKILL


def start(command: Command, *, capture: bool = False) -> subprocess.Popen[bytes]:
    """Start a command that dies with this process; its output is added to its log (`capture`: to a pipe).

    On Linux the tie is to the calling *thread* (prctl(2)): call this from one that lasts, best the main one.
    The child leads a session of its own, so a terminal's Ctrl-C reaches only its parent.
    """
    with command.log.open("ab") as log:
        process = subprocess.Popen(
            [*_tether(command), *command.arguments],
            env=dict(command.environment),
            cwd=command.folder,
            stdin=subprocess.PIPE if command.input else subprocess.DEVNULL,
            stdout=subprocess.PIPE if capture else log,
            stderr=log,
            pass_fds=(_lifeline(), *command.descriptors),
            start_new_session=True,
        )
    if process.stdin is not None:
        with contextlib.suppress(BrokenPipeError), process.stdin as pipe:
            pipe.write(command.input)
    return process


def output(command: Command, seconds: float) -> str:
    """Run a command to its end and return what it printed.

    Raises StartFailure, with the end of its log, when it fails or takes longer than `seconds`.
    """
    name = command.log.stem
    process = start(command, capture=True)
    try:
        printed, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        stop(process)
        raise StartFailure(f"{name} did not end within {seconds:.0f} s:\n{tail(command.log)}") from None
    if process.returncode != 0:
        raise StartFailure(f"{name} ended with exit code {process.returncode}:\n{tail(command.log)}")
    return printed.decode()


def stop(
    process: subprocess.Popen[bytes], *, signal_number: int = signal.SIGTERM, grace: float = 10.0
) -> int:
    """End a child and what it started: the signal, up to `grace` seconds, then SIGKILL. Its exit code."""
    ask_to_stop(process, signal_number)
    return wait_or_kill(process, grace)


def ask_to_stop(process: subprocess.Popen[bytes], signal_number: int = signal.SIGTERM) -> None:
    """Send the signal if the child still runs."""
    if process.poll() is None:
        process.send_signal(signal_number)


def wait_or_kill(process: subprocess.Popen[bytes], grace: float) -> int:
    """Wait for a child's end up to `grace` seconds; then end it and what it left behind. Its exit code."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(max(0.0, grace))
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait()


def tail(log: Path, lines: int = TAIL_LINES) -> str:
    """The last lines of a log, indented to stand under a message; empty when there are none."""
    try:
        text = log.read_text(errors="replace")
    except FileNotFoundError:
        return ""
    return "".join(f"    {line}\n" for line in text.splitlines()[-lines:])


def _tether(command: Command) -> list[str]:
    owner = "-" if command.owner is None else "{}:{}".format(*command.owner)
    isolated = [sys.executable, "-I", "-S", str(TETHER)]
    return [*isolated, str(os.getpid()), str(_lifeline()), str(int(command.death_signal)), owner]


@functools.cache
def _lifeline() -> int:
    """The reading end of a pipe whose writing end nobody but this process holds."""
    reading, _writing = os.pipe()
    return reading
