"""The tie between a command and the process that asked for it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.demo import child, tether
from examples.demo.child import Command, StartFailure

CEILING_SECONDS = 20.0
ROOT = Path(__file__).resolve().parents[2]
SLEEPER = "import signal, os; os.write({fd}, b'.'); signal.pause()"
# Starts the sleeper through the tether, then waits to be killed.
PARENT = """
import os, signal, sys
from pathlib import Path
from examples.demo.child import Command, start
folder = Path(sys.argv[1])
start(Command(arguments=(sys.executable, "-c", sys.argv[2]), environment={{}}, log=folder / "log",
              folder=folder, descriptors=({fd},)))
signal.pause()
"""


@pytest.fixture
def alive() -> Iterator[tuple[int, int]]:
    """A pipe: its reading end meets end of file when no process holds the writing end any more."""
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)


def read_within_ceiling(descriptor: int) -> bytes:
    readable, _, _ = select.select([descriptor], [], [], CEILING_SECONDS)
    assert readable, "nothing happened on the pipe"
    return os.read(descriptor, 1)


def test_kill_9_of_the_parent_ends_the_command(alive: tuple[int, int], tmp_path: Path) -> None:
    reading, writing = alive
    script, sleeper = PARENT.format(fd=writing), SLEEPER.format(fd=writing)
    arguments = [sys.executable, "-c", script, str(tmp_path), sleeper]
    with subprocess.Popen(arguments, pass_fds=(writing,), cwd=ROOT) as parent:
        os.close(writing)
        assert read_within_ceiling(reading) == b"."
        parent.kill()
    assert read_within_ceiling(reading) == b""


def test_without_the_kernels_help_the_command_ends_with_its_lifeline(alive: tuple[int, int]) -> None:
    reading, writing = alive
    lifeline, held = os.pipe()
    script = f"import sys; from examples.demo import tether; tether.watch({lifeline}, 9, sys.argv[1:])"
    sleeper = [sys.executable, "-c", SLEEPER.format(fd=writing)]
    with subprocess.Popen([sys.executable, "-c", script, *sleeper], pass_fds=(lifeline, writing), cwd=ROOT):
        os.close(writing)
        assert read_within_ceiling(reading) == b"."
        os.close(held)
        assert read_within_ceiling(reading) == b""
    os.close(lifeline)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ties a process to its parent")
def test_a_command_is_not_started_for_a_parent_that_is_gone(tmp_path: Path) -> None:
    arguments = [sys.executable, tether.__file__, "1", "0", "9", "-", "touch", str(tmp_path / "started")]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "is gone" in done.stderr
    assert not (tmp_path / "started").exists()


def command(tmp_path: Path, *arguments: str) -> Command:
    return Command(
        arguments=(sys.executable, *arguments), environment={}, log=tmp_path / "it.log", folder=tmp_path
    )


def test_the_exit_code_is_the_commands_own(tmp_path: Path) -> None:
    process = child.start(command(tmp_path, "-c", "raise SystemExit(7)"))
    assert process.wait(CEILING_SECONDS) == 7


def test_a_stubborn_command_is_killed_after_the_grace(alive: tuple[int, int], tmp_path: Path) -> None:
    reading, writing = alive
    stubborn = f"import os, signal; signal.signal(15, signal.SIG_IGN); {SLEEPER.format(fd=writing)}"
    process = child.start(
        Command(
            arguments=(sys.executable, "-c", f"{stubborn}; signal.pause()"),
            environment={},
            log=tmp_path / "it.log",
            folder=tmp_path,
            descriptors=(writing,),
        )
    )
    os.close(writing)
    assert read_within_ceiling(reading) == b"."
    assert child.stop(process, grace=0.1) == -signal.SIGKILL


def test_a_failed_commands_message_ends_with_its_log(tmp_path: Path) -> None:
    failing = command(tmp_path, "-c", "import sys; sys.exit('no such table')")
    with pytest.raises(StartFailure, match=r"it ended with exit code 1:\n    no such table"):
        child.output(failing, CEILING_SECONDS)


def test_the_output_of_a_command_is_what_it_printed_without_its_complaints(tmp_path: Path) -> None:
    talking = command(tmp_path, "-c", "import sys; print('answer'); print('noise', file=sys.stderr)")
    assert child.output(talking, CEILING_SECONDS) == "answer\n"


def test_a_commands_environment_and_input_are_not_in_its_repr(tmp_path: Path) -> None:
    secretive = Command(
        arguments=("true",), environment={"KEY": "s3cret"}, log=tmp_path, folder=tmp_path, input=b"s3cret"
    )
    assert "s3cret" not in repr(secretive)
