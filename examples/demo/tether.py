"""Runs a command that cannot outlive the process that asked for it, not even one ended by kill -9.

    python tether.py PARENT LIFELINE SIGNAL OWNER COMMAND [ARGUMENT ...]

PARENT is the asking process's id; LIFELINE a file descriptor on a pipe whose other end only that process
holds open; SIGNAL the number sent to the command when the parent is gone; OWNER `UID:GID` to give up
root's rights for, or `-`. On Linux the kernel does the work (prctl(2), PR_SET_PDEATHSIG) and this process
becomes the command. Elsewhere it stays, and watches the pipe. Stdlib only: it runs before anything else.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys

PR_SET_PDEATHSIG = 1
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)


def main(arguments: list[str]) -> int:
    """Run the command; on Linux this does not return. Elsewhere, the command's exit code."""
    parent, lifeline, death_signal, owner, *command = arguments
    if owner != "-":
        give_up_root(*(int(number) for number in owner.split(":")))
    if sys.platform == "linux":
        die_with_parent(int(parent), int(death_signal))
        os.close(int(lifeline))
        os.execvp(command[0], command)
    return watch(int(lifeline), int(death_signal), command)


def give_up_root(uid: int, gid: int) -> None:
    """Become an ordinary user for good: PostgreSQL refuses to run as root."""
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)


def die_with_parent(parent: int, death_signal: int) -> None:
    """Ask the kernel for `death_signal` at the parent's end.

    Last, because a change of user clears the request; and checked, because the parent may be gone by now.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) was refused")
    if os.getppid() != parent:
        raise SystemExit(f"The process {parent} that asked for this command is gone; not started.")


def watch(lifeline: int, death_signal: int, command: list[str]) -> int:
    """Run `command` as a child until it ends, or until end of file on `lifeline`."""
    os.set_inheritable(lifeline, False)
    ended, ending = os.pipe()
    signal.signal(signal.SIGCHLD, lambda _number, _frame: os.write(ending, b"!"))
    child = subprocess.Popen(command, close_fds=False)  # sockets handed to the command go on to it
    for number in FORWARDED:
        signal.signal(number, lambda received, _frame: child.send_signal(received))
    readable, _, _ = select.select([lifeline, ended], [], [])
    if lifeline in readable:
        child.send_signal(death_signal)
    return child.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
