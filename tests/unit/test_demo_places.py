"""Private folders and free ports."""

from __future__ import annotations

import socket
import stat
import subprocess
import sys
from pathlib import Path

from examples.demo import folder, ports

ROOT = Path(__file__).resolve().parents[2]
LEAVE_ONE_BEHIND = """
import os, signal, sys
from pathlib import Path
from examples.demo import folder
made = folder.create(Path(sys.argv[1]), "run-")
print(made.path, flush=True)
if sys.argv[2] == "dies":
    os.kill(os.getpid(), signal.SIGKILL)
sys.stdin.read()
"""


def test_a_private_folder_is_its_owners_alone(tmp_path: Path) -> None:
    made = folder.create(tmp_path / "state", "run-")
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o700
    made.remove()
    assert list((tmp_path / "state").iterdir()) == []


def test_the_folder_of_a_killed_process_is_removed_by_the_next_start(tmp_path: Path) -> None:
    arguments = [sys.executable, "-c", LEAVE_ONE_BEHIND, str(tmp_path), "dies"]
    done = subprocess.run(arguments, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    left = Path(done.stdout.strip())
    assert left.is_dir()
    made = folder.create(tmp_path, "run-")
    assert [made.path] == list(tmp_path.iterdir())
    made.remove()


def test_the_folder_of_a_living_process_is_left_alone(tmp_path: Path) -> None:
    arguments = [sys.executable, "-c", LEAVE_ONE_BEHIND, str(tmp_path), "lives"]
    with subprocess.Popen(
        arguments, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        theirs = Path(other.stdout.readline().strip())
        folder.create(tmp_path, "run-").remove()
        assert theirs.is_dir()
        other.communicate("")


def test_the_preferred_port_is_taken_when_it_is_free() -> None:
    wanted = ports.pick()
    assert ports.pick(wanted) == wanted


def test_another_port_is_taken_when_the_preferred_one_is_busy() -> None:
    with socket.create_server((ports.LOOPBACK, 0)) as busy:
        assert ports.pick(busy.getsockname()[1]) not in (0, busy.getsockname()[1])


def test_a_listening_socket_accepts_visitors_before_its_server_is_up() -> None:
    with ports.listen(0) as listener, socket.create_connection(listener.getsockname()) as visitor:
        assert visitor.getpeername()[0] == ports.LOOPBACK


def test_only_this_machine_can_reach_a_listening_socket() -> None:
    with ports.listen(0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"
