"""The supervisor, with stand-ins for programs."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

from examples.demo import child, ports
from examples.demo.child import Command, StartFailure
from examples.demo.demo import start_on_a_port
from examples.demo.supervisor import (
    LONGEST_PAUSE_SECONDS,
    Program,
    Stopped,
    Supervisor,
    describe_exit,
    restart_pause,
)

CEILING_SECONDS = 20
# Writes its process id when it can be signalled, and its name when it is asked to stop.
STAND_IN = """
import os, pathlib, signal, sys
name, folder = sys.argv[1], pathlib.Path(sys.argv[2])
def leave(number, frame):
    with (folder / "left").open("a") as left:
        left.write(name + "\\n")
    os._exit(0)
signal.signal(signal.SIGTERM, leave)
(folder / (name + ".tmp")).write_text(str(os.getpid()))
(folder / (name + ".tmp")).rename(folder / name)
while True:
    signal.pause()
"""


class Stage:
    """A supervisor, what it reported, and stand-ins for it to run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines: list[str] = []
        self.supervisor = Supervisor(self.report)

    def report(self, line: str) -> None:
        self.lines.append(line)
        self.supervisor.wake()

    def program(self, name: str, *arguments: str, script: str = STAND_IN, server: bool = False) -> Program:
        command = Command(
            arguments=(sys.executable, "-c", script, name, str(self.folder), *arguments),
            environment={},
            log=self.folder / f"{name}.log",
            folder=self.folder,
        )
        return Program(name=name, command=command, ready=(self.folder / name).exists, server=server)

    def pid(self, name: str) -> int:
        return int((self.folder / name).read_text())

    def kill_then_wait_for(self, name: str, line: str) -> None:
        """Kill `name` under the supervisor, and run that until it has reported a line that starts so."""
        os.kill(self.pid(name), signal.SIGKILL)
        self.wait_for(line)

    def wait_for(self, line: str) -> None:
        """Run the supervisor until it has reported a line that starts so."""
        self.supervisor.run(lambda: any(reported.startswith(line) for reported in self.lines))


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A stage whose test fails, not hangs, when what it waits for does not come."""
    stage = Stage(tmp_path)
    previous = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(CEILING_SECONDS)
    with stage.supervisor.signals():
        yield stage
        stage.supervisor.stop()
    signal.alarm(0)
    signal.signal(signal.SIGALRM, previous)


def give_up(_number: int, _frame: FrameType | None) -> None:
    raise TimeoutError("The supervisor did not report what the test waits for.")


def test_each_program_is_reported_once_it_is_ready(stage: Stage) -> None:
    stage.supervisor.start(stage.program("shop"), stage.program("worker"))
    shop, worker = stage.pid("shop"), stage.pid("worker")
    assert sorted(stage.lines) == [f"shop is ready (process {shop})", f"worker is ready (process {worker})"]


def test_a_killed_program_is_started_again_and_the_rest_stays_up(stage: Stage) -> None:
    stage.supervisor.start(stage.program("shop"), stage.program("worker"))
    shop = stage.pid("shop")
    stage.kill_then_wait_for("worker", "worker is started again")
    assert "worker ended (SIGKILL); starting it again in 0.5 s" in stage.lines
    assert stage.pid("shop") == shop
    os.kill(shop, 0)


def test_a_program_that_keeps_dying_is_started_again_ever_more_slowly(stage: Stage) -> None:
    well_once = "import pathlib, sys\nif (pathlib.Path(sys.argv[2]) / 'worker').exists(): sys.exit(3)\n"
    stage.supervisor.start(stage.program("worker", script=well_once + STAND_IN))
    stage.kill_then_wait_for("worker", "worker ended (exit code 3); starting it again in 1 s")
    assert "worker ended (SIGKILL); starting it again in 0.5 s" in stage.lines


def test_an_amended_program_is_started_the_new_way_after_its_end(stage: Stage) -> None:
    stage.supervisor.start(stage.program("worker"))
    stage.supervisor.amend(stage.program("worker", script="raise SystemExit(4)"))
    stage.kill_then_wait_for("worker", "worker ended (exit code 4)")
    assert stage.lines[-1] == "worker ended (exit code 4); starting it again in 1 s"


def test_an_adopted_program_is_watched_like_the_others(stage: Stage) -> None:
    program = stage.program("redis")
    process = child.start(program.command)
    stage.supervisor.adopt(program, process)
    process.kill()
    stage.wait_for("redis is started again")
    assert stage.lines[0] == f"redis is ready (process {process.pid})"


LISTENING = """
import pathlib, signal, socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[3])))
(pathlib.Path(sys.argv[2]) / sys.argv[1]).touch()
signal.pause()
"""


def test_a_program_whose_port_was_taken_meanwhile_gets_another(stage: Stage) -> None:
    with contextlib.ExitStack() as quicker:
        tried: list[int] = []

        def listening(port: int) -> Program:
            if not tried:
                quicker.enter_context(socket.create_server((ports.LOOPBACK, port)))
            tried.append(port)
            return stage.program("inbox", str(port), script=LISTENING)

        assert start_on_a_port(stage.supervisor, 0, listening) == tried[1]
        assert tried[0] != tried[1]


def test_a_program_that_fails_for_another_reason_is_not_tried_again(stage: Stage) -> None:
    broken = "import pathlib, sys; (pathlib.Path(sys.argv[2]) / 'tries').open('a').write('!'); sys.exit(3)"
    with pytest.raises(StartFailure, match="inbox ended with exit code 3"):
        start_on_a_port(stage.supervisor, 0, lambda port: stage.program("inbox", str(port), script=broken))
    assert (stage.folder / "tries").read_text() == "!"


@pytest.mark.parametrize(
    ("deaths", "seconds"), [(1, 0.5), (2, 1.0), (3, 2.0), (5, 8.0), (6, LONGEST_PAUSE_SECONDS), (99, 15.0)]
)
def test_the_pause_before_a_restart_doubles_up_to_its_limit(deaths: int, seconds: float) -> None:
    assert restart_pause(deaths) == seconds


def test_what_a_dead_program_had_started_is_ended_too(stage: Stage) -> None:
    reading, writing = os.pipe()
    forking = f"import os\nif os.fork() == 0: import signal; signal.pause()\nos.close({writing})\n" + STAND_IN
    program = stage.program("worker", script=forking)
    command = Command(
        arguments=program.command.arguments,
        environment={},
        log=program.command.log,
        folder=stage.folder,
        descriptors=(writing,),
    )
    stage.supervisor.start(Program(name="worker", command=command, ready=program.ready))
    os.close(writing)
    stage.kill_then_wait_for("worker", "worker ended (SIGKILL); starting it again in 0.5 s")
    readable, _, _ = select.select([reading], [], [], CEILING_SECONDS)
    assert readable == [reading]
    assert os.read(reading, 1) == b""
    os.close(reading)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_signal_ends_the_run(stage: Stage, number: signal.Signals) -> None:
    stage.supervisor.start(stage.program("shop"))
    os.kill(os.getpid(), number)
    stage.supervisor.run()
    assert len(stage.lines) == 1


def test_a_stop_signal_while_programs_start_ends_the_start(stage: Stage) -> None:
    never = Program(name="worker", command=stage.program("worker").command, ready=lambda: False)
    os.kill(os.getpid(), signal.SIGTERM)
    with pytest.raises(Stopped):
        stage.supervisor.start(never)


def test_servers_are_stopped_after_the_programs_that_use_them(stage: Stage) -> None:
    stage.supervisor.start(stage.program("redis", server=True), stage.program("worker"))
    stage.supervisor.stop()
    assert (stage.folder / "left").read_text().split() == ["worker", "redis"]


def test_a_program_that_ends_at_its_start_is_named_with_the_end_of_its_log(stage: Stage) -> None:
    broken = stage.program("worker", script="raise SystemExit('SECRET_KEY is not set')")
    with pytest.raises(StartFailure, match=r"worker ended with exit code 1:\n    SECRET_KEY is not set"):
        stage.supervisor.start(broken)


def test_a_program_that_is_not_ready_in_time_is_named(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("examples.demo.supervisor.READY_SECONDS", 0.2)
    program = Program(name="beat", command=stage.program("beat").command, ready=lambda: False)
    with pytest.raises(StartFailure, match="beat was not ready within 0 s"):
        stage.supervisor.start(program)


@pytest.mark.parametrize(("code", "text"), [(0, "exit code 0"), (3, "exit code 3"), (-9, "SIGKILL")])
def test_an_exit_is_described_by_code_or_signal(code: int, text: str) -> None:
    assert describe_exit(code) == text
