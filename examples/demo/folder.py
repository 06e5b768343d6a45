"""Private folders that are removed at the end, or by the next start when there was no end."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

LOCK = ".lock"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PrivateFolder:
    """A folder only its owner can read; `lock` is held for as long as this process lives."""

    path: Path
    lock: int

    def remove(self) -> None:
        """Remove the folder and all in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        with contextlib.suppress(OSError):
            os.close(self.lock)


def create(parent: Path, prefix: str) -> PrivateFolder:
    """A new folder under `parent`; those of the same prefix that a killed process left are removed first."""
    parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(parent, prefix)
    path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    lock = os.open(path / LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return PrivateFolder(path=path, lock=lock)


def _remove_abandoned(parent: Path, prefix: str) -> None:
    for path in parent.glob(f"{prefix}*"):
        # Another user's folder, or one that is just being made, has no lock that we can take.
        with contextlib.suppress(OSError):
            lock = os.open(path / LOCK, os.O_RDWR)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path)
            finally:
                os.close(lock)
