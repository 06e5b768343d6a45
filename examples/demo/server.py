"""A server process that can be stopped, started again, and waited for."""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from examples.demo import child, ports
from examples.demo.child import Command, StartFailure
from examples.demo.folder import PrivateFolder

START_SECONDS = 30.0
POLL_SECONDS = 0.02
TRIES = 3  # a port that was free when picked may be taken by the time the server opens it


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A running server; a context manager that stops it.

    `url` holds the password when the server is ours. `process` and `command` are None when it was there
    before us: then `stop` leaves it alone. `folder` is what `stop` removes besides.
    """

    url: str = dataclasses.field(repr=False)
    process: subprocess.Popen[bytes] | None = None
    command: Command | None = None
    answers: Callable[[], bool] = dataclasses.field(default=lambda: True, repr=False)
    folder: PrivateFolder | None = None
    stop_signal: signal.Signals = signal.SIGTERM

    def stop(self) -> None:
        """End the server if it is ours and remove its private folder."""
        if self.process is not None:
            child.stop(self.process, signal_number=self.stop_signal)
        if self.folder is not None:
            self.folder.remove()

    def start_again(self) -> Server:
        """The same server on the same port and data, after its process was ended from outside."""
        if self.command is None:
            raise StartFailure("This server was not started here, so it cannot be started again here.")
        return launch(self, self.command)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def launch(server: Server, command: Command) -> Server:
    """Start `command` as `server` and wait until it answers. Raises StartFailure with the end of its log."""
    process = child.start(command)
    name = Path(command.arguments[0]).name
    give_up_at = time.monotonic() + START_SECONDS
    while not server.answers():
        if process.poll() is not None:
            raise StartFailure(
                f"{name} ended with exit code {process.returncode}:\n{child.tail(command.log)}"
            )
        if time.monotonic() > give_up_at:
            child.stop(process)
            raise StartFailure(f"{name} did not answer in {START_SECONDS:.0f} s:\n{child.tail(command.log)}")
        time.sleep(POLL_SECONDS)
    return dataclasses.replace(server, process=process, command=command)


def on_a_free_port(describe: Callable[[int], tuple[Server, Command]]) -> Server:
    """Launch what `describe(port)` gives, on another port when the first was taken in between."""
    for _ in range(TRIES - 1):
        with contextlib.suppress(StartFailure):
            return launch(*describe(ports.pick()))
    return launch(*describe(ports.pick()))
