"""The demo as a person meets it: its processes, its pages, its exit code."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from examples.demo.browser import Browser, PageFailure
from examples.demo.embedded import start_postgres
from examples.demo.inbox import Inbox
from examples.demo.programs import FORGOT_PATH, ROOT

pytestmark = pytest.mark.acceptance

CEILING_SECONDS = 90.0
PROCESS = re.compile(r"^  (\S+) is (?:ready|started again) \(process (\d+)\)$")
URLS = ("DATABASE_URL", "REDIS_URL")


def wait_for(fact: Callable[[], bool], what: str) -> None:
    give_up_at = time.monotonic() + CEILING_SECONDS
    while not fact():
        assert time.monotonic() < give_up_at, f"It did not happen: {what}."
        time.sleep(0.05)


class RunningDemo:
    """`python -m examples.demo` in a process of its own, and what it has printed so far."""

    def __init__(self, environment: dict[str, str], *options: str) -> None:
        command = [sys.executable, "-m", "examples.demo", *options]
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def has_printed(self, words: str) -> bool:
        return words in self.text

    def wait_for(self, words: str) -> None:
        wait_for(lambda: self.has_printed(words) or self.process.poll() is not None, words)
        assert self.has_printed(words), self.text

    def address(self, name: str) -> str:
        return next(line.split()[-1] for line in self.lines if line.startswith(f"  {name}"))

    def processes(self) -> dict[str, int]:
        """The newest process of each program."""
        found = [match for line in self.lines if (match := PROCESS.match(line))]
        return {match[1]: int(match[2]) for match in found}

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.exit_code()

    def exit_code(self) -> int:
        """Wait until it ends by itself."""
        code = self.process.wait(CEILING_SECONDS)
        self._reader.join(CEILING_SECONDS)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A newcomer's: no server is named; in the PostgreSQL pass, one made for this module alone is."""
    plain = {name: value for name, value in os.environ.items() if name not in URLS}
    if os.environ.get("TEST_DATABASE") != "postgres":
        yield plain
        return
    with start_postgres(tmp_path_factory.mktemp("demo"), durable=False, environ={}) as server:
        yield {**plain, "DATABASE_URL": server.url}


@contextlib.contextmanager
def demo(environment: dict[str, str]) -> Iterator[RunningDemo]:
    running = RunningDemo(environment)
    try:
        running.wait_for("Ctrl-C stops everything.")
        yield running
    finally:
        if running.process.returncode is None:
            running.end()


@pytest.fixture(scope="module")
def up(environment: dict[str, str]) -> Iterator[RunningDemo]:
    with demo(environment) as running:
        yield running


def worker_of(running: RunningDemo) -> str:
    """The name of the worker that sends email."""
    return next(name for name in ("worker-email", "worker-all") if name in running.processes())


def is_running(pid: int) -> bool:
    """Whether the process exists and is not merely waiting to be collected by whoever inherited it."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:  # gone this moment, or a system without /proc
        return not Path("/proc/self").exists()


def answers(url: str) -> bool:
    try:
        Browser().get(url)
    except PageFailure:
        return False
    return True


def timeline_events(running: RunningDemo) -> set[str]:
    """What the printed timeline says, without its times."""
    lines = (line.split() for line in running.lines if line.startswith("+"))
    return {" ".join(words[3:]) for words in lines}


def ask_for_a_reset(running: RunningDemo, email: str) -> None:
    visitor = Browser()
    visitor.submit(visitor.get(running.address("Shop") + FORGOT_PATH), email=email)


def test_a_reset_arrives_although_its_worker_was_killed(up: RunningDemo) -> None:
    name = worker_of(up)
    killed = up.processes()[name]
    before = len(Inbox(up.address("Inbox")).messages())
    os.kill(killed, signal.SIGKILL)
    ask_for_a_reset(up, "ben@shop.example")
    up.wait_for(f"{name} is started again")

    def channels() -> list[str]:
        return sorted(message.channel for message in Inbox(up.address("Inbox")).messages()[before:])

    wait_for(lambda: channels() == ["email", "sms"], "both messages in the inbox")
    assert up.processes()[name] != killed
    assert answers(up.address("Shop"))


def test_a_second_demo_takes_other_ports_and_both_work(up: RunningDemo, environment: dict[str, str]) -> None:
    with demo(environment) as second:
        pages = [running.address(name) for running in (up, second) for name in ("Shop", "Inbox", "Flower")]
        assert len(set(pages)) == len(pages)
        assert [answers(page) for page in pages] == [True] * len(pages)


def test_ctrl_c_stops_everything_and_leaves_nothing_behind(environment: dict[str, str]) -> None:
    with demo(environment) as running:
        folder = Path(running.address("Logs"))
        assert running.end(signal.SIGINT) == 0
        assert [pid for pid in running.processes().values() if is_running(pid)] == []
        assert not folder.exists()


def test_kill_9_of_the_demo_leaves_no_process_and_no_open_port(environment: dict[str, str]) -> None:
    with demo(environment) as running:
        assert running.end(signal.SIGKILL) == -signal.SIGKILL
        wait_for(lambda: not any(map(is_running, running.processes().values())), "every program's end")
        pages = [running.address(name) for name in ("Shop", "Inbox", "Flower")]
        wait_for(lambda: not any(map(answers, pages)), "every port's end")


def test_once_without_workers_fails_and_says_so(environment: dict[str, str]) -> None:
    running = RunningDemo(environment, "--once", "--without", "worker", "--patience", "1")
    assert running.exit_code() == 1
    assert "the email and the SMS did not arrive within 1 s. Not running: worker." in running.text


def test_once_goes_all_the_way_through_the_pages_and_prints_the_timeline(environment: dict[str, str]) -> None:
    running = RunningDemo(environment, "--once")
    assert running.exit_code() == 0
    assert "signed in with the new password" in running.text
    assert {"email accepted", "sms accepted"} <= timeline_events(running)
