"""Runs a host project's commands in a process of their own, as its people would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

#: Far more than any of them takes.
CEILING_SECONDS = 120


def run_host(
    settings: str, *arguments: str, folder: Path, python_path: tuple[Path, ...] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    """``python arguments…`` under ``tests.hosts.<settings>``, with its files in ``folder``."""
    root = Path(__file__).resolve().parents[2]
    search = os.pathsep.join(map(str, (*python_path, root)))
    return subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": f"tests.hosts.{settings}",
            "HOST_FOLDER": str(folder),
            "PYTHONPATH": search,
            **environment,
        },
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=CEILING_SECONDS,
        check=False,
    )
