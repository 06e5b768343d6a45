"""A process that a test may kill, freeze and thaw; it ends with the test run whatever happens."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from examples.demo import child
from tests.acceptance.harness.waiting import CEILING_SECONDS, eventually

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """One started process and its log."""

    process: subprocess.Popen[bytes] = field(repr=False)
    log: Path

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self.process.poll() is None

    def wait_until_log_says(self, words: str) -> None:
        """Return once its log holds ``words``; its log's end is the error when it ends before."""
        eventually(lambda: self.has_logged(words) or not self.is_alive, f"{words!r} in {self.log.name}")
        assert self.has_logged(words), f"{self.log.name} ended early:\n{child.tail(self.log)}"

    def kill(self) -> None:
        """SIGKILL, as the kernel does it when memory runs out."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(CEILING_SECONDS)

    def end(self) -> None:
        """SIGKILL to it and to all that it started: a server's own workers outlive it for a while."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(CEILING_SECONDS)

    def freeze(self) -> None:
        """SIGSTOP: alive, and doing nothing; returns once that is so."""
        os.kill(self.process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)

    def thaw(self) -> None:
        """SIGCONT."""
        os.kill(self.process.pid, signal.SIGCONT)

    def ask_to_stop(self) -> None:
        """SIGTERM."""
        os.kill(self.process.pid, signal.SIGTERM)

    def exit_code(self) -> int:
        """Its exit code, once it has ended by itself."""
        return self.process.wait(CEILING_SECONDS)

    def has_logged(self, words: str) -> bool:
        """Whether its log holds ``words`` by now."""
        return words in self.log.read_text(errors="replace")


def start(*arguments: str, environment: Mapping[str, str], log: Path) -> Running:
    """Start Python with ``arguments`` in the project's folder."""
    command = child.Command(
        arguments=(sys.executable, *arguments),
        environment={**os.environ, **environment},
        log=log,
        folder=ROOT,
    )
    return Running(process=child.start(command), log=log)
