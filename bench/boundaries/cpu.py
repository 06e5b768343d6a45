"""Processor time of processes and all that they started, from Linux's /proc (proc_pid_stat(5))."""

from __future__ import annotations

import contextlib
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """One process: who started it, and its time with that of its ended children, in clock ticks."""

    pid: int
    parent: int
    ticks: int


def parsed(stat: str) -> Used:
    """A line of ``/proc/PID/stat``; the name in it may hold spaces and brackets."""
    pid = stat.partition(" ")[0]
    fields = stat.rpartition(")")[2].split()
    # From state, the third field of the manual: ppid is the 4th, utime to cstime the 14th to 17th.
    return Used(pid=int(pid), parent=int(fields[1]), ticks=sum(map(int, fields[11:15])))


def in_tree(root: int, used: Mapping[int, Used]) -> int:
    """Ticks of ``root`` and of what it started and still runs; 0 where it runs no more."""
    children: dict[int, list[int]] = defaultdict(list)
    for one in used.values():
        children[one.parent].append(one.pid)
    waiting, total = [root] if root in used else [], 0
    while waiting:
        pid = waiting.pop()
        total += used[pid].ticks
        waiting += children[pid]
    return total


def seconds_by_role(pids: Mapping[str, int]) -> dict[str, float] | None:
    """Seconds so far of each role's process and what it started; ``None`` where there is no /proc."""
    used = {one.pid: one for one in _all()}
    if not used:
        return None
    per_second = os.sysconf("SC_CLK_TCK")
    return {role: in_tree(pid, used) / per_second for role, pid in pids.items()}


def spent(before: Mapping[str, float] | None, after: Mapping[str, float] | None) -> dict[str, float] | None:
    """The seconds between two looks at the same roles; ``None`` where there was nothing to look at."""
    if before is None or after is None:
        return None
    return {role: after[role] - seconds for role, seconds in before.items()}


def _all() -> Iterator[Used]:
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended just now
            yield parsed(file.read_text())
