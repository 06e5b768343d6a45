"""What was accepted, in an SQLite file: written before the reply, so that it survives any kill."""

from __future__ import annotations

import sqlite3
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

_SCHEMA = """
CREATE TABLE IF NOT EXISTS submissions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    channel TEXT NOT NULL,
    recipient TEXT NOT NULL,
    key TEXT NOT NULL,
    body BLOB NOT NULL,
    received_at REAL NOT NULL
)
"""
_COLUMNS = "id, channel, recipient, key, body, received_at"


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One accepted submission.

    ``key`` is what a second copy has in common with the first: an email's Message-ID, an SMS's
    text. ``body`` is the message as received (dots unstuffed) or the form as posted;
    ``received_at`` is in seconds since 1970.
    """

    id: int
    channel: str
    recipient: str = field(repr=False)
    key: str = field(repr=False)
    body: bytes = field(repr=False)
    received_at: float


class Store:
    """Submissions in the order in which they came; safe between threads.

    Another process may read the file at the same time (it is in WAL mode).
    """

    def __init__(self, path: str | Path = ":memory:") -> None:
        self._lock = threading.Lock()
        self._database = sqlite3.connect(str(path), check_same_thread=False, isolation_level=None, timeout=10)
        self._database.execute("PRAGMA journal_mode=WAL")
        # Enough for a killed process; a lost machine is not what is tested.
        self._database.execute("PRAGMA synchronous=NORMAL")
        self._database.execute(_SCHEMA)

    def record(self, *, channel: str, recipient: str, key: str, body: bytes) -> int:
        """Store and commit; the new id."""
        with self._lock:
            cursor = self._database.execute(
                "INSERT INTO submissions (channel, recipient, key, body, received_at) VALUES (?, ?, ?, ?, ?)",
                (channel, recipient, key, body, time.time()),
            )
            return cursor.lastrowid or 0

    def list(self, channel: str = "") -> list[Submission]:
        """Every submission, or those of one channel, oldest first."""
        with self._lock:
            rows = self._database.execute(
                f"SELECT {_COLUMNS} FROM submissions WHERE ? IN ('', channel) ORDER BY id",
                (channel,),
            ).fetchall()
        return [_submission(row) for row in rows]

    def get(self, submission_id: int) -> Submission | None:
        """One submission, if there is one of that id."""
        with self._lock:
            row = self._database.execute(
                f"SELECT {_COLUMNS} FROM submissions WHERE id = ?",
                (submission_id,),
            ).fetchone()
        return _submission(row) if row else None

    def count(self, channel: str = "", *, recipient: str = "", key: str = "") -> int:
        """How many there are, of those that match what is given."""
        with self._lock:
            row = self._database.execute(
                "SELECT count(*) FROM submissions"
                " WHERE ? IN ('', channel) AND ? IN ('', recipient) AND ? IN ('', key)",
                (channel, recipient, key),
            ).fetchone()
        return int(row[0])

    def clear(self) -> None:
        """Forget everything; ids go on."""
        with self._lock:
            self._database.execute("DELETE FROM submissions")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()


def _submission(row: tuple[int, str, str, str, bytes, float]) -> Submission:
    number, channel, recipient, key, body, received_at = row
    return Submission(
        id=number,
        channel=channel,
        recipient=recipient,
        key=key,
        body=bytes(body),
        received_at=received_at,
    )
