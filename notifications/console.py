"""A transport for development: prints the message instead of sending it."""

from __future__ import annotations

import sys
import threading
from typing import ClassVar, TextIO

from notifications.deadline import Deadline, DeadlinePassed
from notifications.failures import before_submit
from notifications.message import EmailMessage, Message
from notifications.outcome import Outcome, OutcomeKind


class ConsoleTransport:
    """Writes addresses, texts and links to ``stream`` (standard output): never use it in production."""

    name: ClassVar[str] = "console"

    def __init__(self, *, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def submit(self, message: Message, deadline: Deadline) -> Outcome:
        """Print ``message`` in one piece; :attr:`OutcomeKind.ACCEPTED` unless it is too late."""
        try:
            deadline.check()
        except DeadlinePassed as error:
            return before_submit(error)
        stream = self._stream or sys.stdout
        with self._lock:
            stream.write(_printed(message))
            stream.flush()
        return Outcome(kind=OutcomeKind.ACCEPTED)

    def close(self) -> None:
        """Nothing is kept open."""


def _printed(message: Message) -> str:
    rule = "-" * 72
    if isinstance(message, EmailMessage):
        return f"{rule}\nEmail to {message.to}\n{message.subject}\n\n{message.text}\n{rule}\n"
    return f"{rule}\nSMS to {message.to}\n\n{message.text}\n{rule}\n"
