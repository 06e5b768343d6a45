"""Facts that tell that a program is ready; each answers at once, or within two seconds."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

SECONDS = 2.0


def http_answers(url: str) -> bool:
    """Whether a page answers without an error (any status under 400)."""
    try:
        with urllib.request.urlopen(url, timeout=SECONDS):
            return True
    except (urllib.error.URLError, OSError):
        return False


def json_written(file: Path) -> dict[str, object] | None:
    """What a program wrote to its ready file; None while there is nothing whole."""
    try:
        content = json.loads(file.read_text())
    except (FileNotFoundError, ValueError):
        return None
    return content if isinstance(content, dict) else None


class WorkerRoll:
    """Which Celery workers answer a ping; one call asks them all."""

    def __init__(self, environment: Mapping[str, str], folder: Path) -> None:
        self._environment = dict(environment)
        self._folder = folder
        self._answered: set[str] = set()

    def has(self, node: str) -> bool:
        """Whether the worker `name@host` has answered; asks again until it has."""
        if node not in self._answered:
            self._answered |= self._ping()
        return node in self._answered

    def _ping(self) -> set[str]:
        command = [
            sys.executable,
            "-m",
            "celery",
            "-A",
            "config",
            "inspect",
            "ping",
            "--json",
            "--timeout",
            "1",
        ]
        done = subprocess.run(
            command, cwd=self._folder, env=self._environment, capture_output=True, text=True, check=False
        )
        try:
            answers = json.loads(done.stdout)
        except ValueError:
            return set()
        return set(answers) if isinstance(answers, dict) else set()
